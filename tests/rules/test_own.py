"""Plans with a user's own rows and loaders, and the order of a run's outputs."""

import re
import shlex

import numpy
import pytest
import yaml

from beyond_ram.experiment import Job


@pytest.mark.slow
def test_own_rows_and_loaders_are_inputs_of_their_jobs(project, snakemake, tmp_path):
    rows, other = tmp_path / "train.npy", tmp_path / "other.npy"
    for file in (rows, other):
        numpy.save(file, numpy.zeros((10, 12), numpy.uint16))
    module = str(project / "examples/own_loader.py")
    matrix = {"stack": ["loaders"], "tokens": ["mine"], "loader": ["mine", "apart", "threads"]}
    config = {
        "defaults": "none",
        "tokens": {"mine": {"path": str(rows)}},
        "loaders": {"mine": {"module": module}, "apart": {"module": module, "data": str(other)}},
        "experiments": {"training": {"workload": "load", "matrix": matrix}},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    done = snakemake("load", "--dry-run", "--printshellcmds", "--configfile", str(tmp_path / "mine.yaml"))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    output = done.stdout + done.stderr
    inputs = dict(re.findall(r"^rule (\w+):\n +input: (.*)$", output, re.MULTILINE))
    assert str(rows) in inputs["tokens"].split(", ")
    commands = re.findall(r"^Shell command: (beyond-ram measure .*)$", output, re.MULTILINE)
    jobs = [Job.model_validate_json(next(word for word in shlex.split(c) if word.startswith("{"))) for c in commands]
    job_of = {re.search(r"loader~(\w+)", job.path)[1]: job for job in jobs}
    dataset = "results-mine/tokens/mine"
    for loader, tokens, reads in (
        ("mine", dataset, f"{dataset}/npy"),
        ("threads", dataset, f"{dataset}/npy"),
        ("apart", None, str(other)),
    ):
        assert (job_of[loader].tokens, job_of[loader].reads) == (tokens, (reads,))
    planned = re.findall(r"^rule measure:\n +input: (.*)\n +output: (.*)$", output, re.MULTILINE)
    assert sum(str(other) in inputs.split(", ") for inputs, _ in planned) == 1
    # Snakemake removes outputs in their order: a kill in between leaves no record of a run that lacks a file.
    assert all(outputs.split(", ")[0].endswith("/run.json") for _, outputs in planned)
