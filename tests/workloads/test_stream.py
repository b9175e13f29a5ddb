"""The program `stream`: its arguments of the client."""

import json
import os

import pytest

from ..conftest import forking, interpreter
from .encoding import LIBRARIES

pytestmark = pytest.mark.slow

SHARDS = """
import sys
sys.path.insert(0, sys.argv[1])
import datasets, stream
data = datasets.IterableDataset.from_generator(lambda shards: ({"shard": s} for s in shards for _ in range(10)),
                                               gen_kwargs={"shards": list(range(6))})
for shards in sys.argv[2:]:
    shuffled = data.shuffle(seed=1, buffer_size=5, **stream.interleaved(data, int(shards)))
    print(len({row["shard"] for row in shuffled.take(5)}), flush=True)
"""


def test_requested_number_of_shards_fills_the_buffer(root, tmp_path):
    def shards_of_first_rows(stack, *shards):
        """Return from how many shards the first rows come, for each requested number, up to one that is impossible."""
        environment = {**os.environ, "BEYOND_RAM_EVENTS": str(tmp_path / "events.jsonl")}
        done = forking(interpreter(stack), *LIBRARIES).run(
            "-c", SHARDS, root / "scripts/workloads", *shards, env=environment
        )
        return [int(number) for number in done.stdout.split()]

    one, six = shards_of_first_rows("current", 1, 6)
    assert one == 1
    assert six > 1
    assert shards_of_first_rows("june-2023", 0, 6) == [1]
    (event,) = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert event["event"] == "not_applicable"
    assert "max_buffer_input_shards" in event["reason"]
