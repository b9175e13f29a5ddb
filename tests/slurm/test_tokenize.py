"""Shards of `beyond-ram tokenize` on two nodes, as an array and as target `tokenise`: a lost node's are done again.

The ids are those of one machine.
"""

import json
import random
import subprocess
import sys
import time

import pytest
import yaml

from tests.conftest import link_stack
from tests.tokenize.conftest import families  # noqa: F401 (a fixture)

from .conftest import until
from .test_two_nodes import restart

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

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


def until_at_work(slurm, folder):
    """Wait until parts are being made, and return the jobs on node 2."""
    jobs = until(lambda: slurm.running_on("node2"), "a shard on node 2")
    until(lambda: [*folder.glob("ids/.beyond-ram-tokenize/*.bin*")], "a part is begun")
    time.sleep(1)
    return str(jobs)


def assert_as_on_one_machine(folder, tokenizer, why):
    alone = folder / "alone"
    for shard in range(1, SHARDS + 1):
        command = [sys.executable, "-m", "beyond_ram", "tokenize", folder / "data", "--tokenizer", tokenizer]
        command += ["--out", alone, "--format", "bin", "--shard", f"{shard}/{SHARDS}"]
        subprocess.run(command, check=True, capture_output=True)
    digests = [json.loads((out / "summary.json").read_text())["digest"] for out in (folder / "ids", alone)]
    assert digests[0] == digests[1], why
    for part in sorted(alone.glob("tokens*")):
        assert part.read_bytes() == (folder / "ids" / part.name).read_bytes(), part.name


def test_lost_node_is_done_again(slurm, families, tmp_path):  # noqa: F811
    texts(tmp_path / "data")
    script = tmp_path / "array.sh"
    script.write_text(ARRAY.format(shards=SHARDS, folder=tmp_path, tokenizer=families["t5"]), encoding="utf-8")
    job = slurm.call("sbatch", "--parsable", "--export=ALL", script).strip()
    lost = until_at_work(slurm, tmp_path)
    slurm.cluster("lose", "node2", "--jobs")
    restart(slurm, "node2")
    until(lambda: not slurm.call("squeue", "-h", "-j", job, "-o", "%i").strip(), "all shards", 400)
    logs = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.log")}
    assert (tmp_path / "ids" / "summary.json").is_file(), logs
    assert_as_on_one_machine(tmp_path, families["t5"], (lost, logs))


def test_workflow_does_the_shards_of_a_lost_node_again(
    accounted,
    clone,
    run_in,
    families,  # noqa: F811
    tmp_path,
):
    slurm = accounted
    for stack in ("encoder", "encoder-0.23"):
        link_stack(stack, clone)
    texts(tmp_path / "data")
    section = {"inputs": [str(tmp_path / "data")], "tokenizer": str(families["t5"]), "out": str(tmp_path / "ids")}
    section |= {"shards": SHARDS, "format": "bin", "memory_limit_mb": 350}
    config = tmp_path / "own.yaml"
    config.write_text(yaml.safe_dump({"defaults": "none", "results": str(tmp_path / "results"), "tokenise": section}))
    call, lost = ("tokenise", "--configfile", config), list[str]()

    def lose():
        lost.append(until_at_work(slurm, tmp_path))
        slurm.cluster("lose", "node2", "--jobs")

    try:
        run = slurm.snakemake(*call, cwd=clone, timeout=600, status="sacct", meanwhile=lose)
    finally:
        restart(slurm, "node2")
    states = [job["JobState"] for job in run.jobs_of("tokenise_shard")]
    assert states.count("COMPLETED") == SHARDS
    assert "NODE_FAIL" in states
    assert ["mem=700M" in job["TRES"] for job in run.jobs_of("tokenise_shard")[:SHARDS]] == [True] * SHARDS
    assert [job["JobState"] for job in run.jobs_of("tokenise")][-1] == "COMPLETED"
    assert_as_on_one_machine(tmp_path, families["t5"], (lost, run.output))
    again = run_in("snakemake", *map(str, call), "--cores", "2")
    assert "Nothing to be done" in again.stderr, again.stderr
