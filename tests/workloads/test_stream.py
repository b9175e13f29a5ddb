"""The program `stream`: what it asks of a client."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from ..conftest import interpreter

pytestmark = pytest.mark.slow

SHARDS = """
import sys
sys.path.insert(0, sys.argv[1])
import datasets, stream
data = datasets.IterableDataset.from_generator(lambda shards: ({"shard": s} for s in shards for _ in range(10)),
                                               gen_kwargs={"shards": list(range(6))})
shuffled = data.shuffle(seed=1, buffer_size=5, **stream.interleaved(data, int(sys.argv[2])))
print(len({row["shard"] for row in shuffled.take(5)}))
"""


def test_so_many_shards_fill_the_buffer(root: Path, tmp_path: Path) -> None:
    def first(stack: Path, shards: int) -> str:
        environment = {**os.environ, "BEYOND_RAM_EVENTS": str(tmp_path / "events.jsonl")}
        command = [stack, "-c", SHARDS, root / "scripts/workloads", str(shards)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    current = interpreter("stream-current")
    assert first(current, 1) == "1"
    assert int(first(current, 6)) > 1
    older = interpreter("stream-4.3")
    assert first(older, 0) == "1"
    assert first(older, 6) == ""
    (event,) = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert event["event"] == "not_applicable"
    assert "max_buffer_input_shards" in event["reason"]
