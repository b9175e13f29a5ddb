"""Shards of `beyond-ram tokenize` on two nodes, as an array: those of a lost node are done again.

The ids are those of one machine. rules/test_tokenise.py loses a shard of target `tokenise`, test_two_nodes.py a node.
"""

import json
import random
import subprocess
import sys
import time

import pytest

from tests.tokenize.conftest import families  # noqa: F401 (a fixture)

from .conftest import until
from .test_two_nodes import restart

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

SHARDS = 4
# As docs/tokenize.md has it.
ARRAY = """#!/bin/bash
#SBATCH --array=1-{shards} --requeue --mem=700M --cpus-per-task=1 --output={folder}/%a.log
beyond-ram tokenize {folder}/data --tokenizer {tokenizer} --out {folder}/ids --format bin \\
  --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
"""


def texts(folder):
    """Write texts on which Unigram, which the slower release encodes, takes seconds a shard."""
    chance = random.Random(4)
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(2, 12))) for _ in range(200_000)]
    folder.mkdir()
    for number in range(SHARDS):
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(20_000):
                file.write(json.dumps({"text": " ".join(chance.choices(words, k=100))}) + "\n")


def test_lost_node_is_done_again(slurm, families, tmp_path):  # noqa: F811
    texts(tmp_path / "data")
    script = tmp_path / "array.sh"
    script.write_text(ARRAY.format(shards=SHARDS, folder=tmp_path, tokenizer=families["t5"]), encoding="utf-8")
    job = slurm.call("sbatch", "--parsable", "--export=ALL", script).strip()
    lost = until(lambda: slurm.running_on("node2"), "a shard on node 2")
    until(lambda: [*tmp_path.glob("ids/.beyond-ram-tokenize/*.bin*")], "a part is begun")
    time.sleep(1)
    slurm.cluster("lose", "node2", "--jobs")
    restart(slurm, "node2")
    until(lambda: not slurm.call("squeue", "-h", "-j", job, "-o", "%i").strip(), "all shards", 400)
    logs = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.log")}
    assert (tmp_path / "ids" / "summary.json").is_file(), logs
    ids, alone = tmp_path / "ids", tmp_path / "alone"
    for shard in range(1, SHARDS + 1):
        command = [sys.executable, "-m", "beyond_ram", "tokenize", tmp_path / "data", "--tokenizer", families["t5"]]
        command += ["--out", alone, "--format", "bin", "--shard", f"{shard}/{SHARDS}"]
        subprocess.run(command, check=True, capture_output=True)
    digests = [json.loads((out / "summary.json").read_text())["digest"] for out in (ids, alone)]
    assert digests[0] == digests[1], (lost, logs)
    for part in sorted(alone.glob("tokens*")):
        assert part.read_bytes() == (ids / part.name).read_bytes(), part.name
