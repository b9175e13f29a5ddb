"""profiles/slurm through the real plugin on a real Slurm: jobs run, get more memory after a kill, and measure alone."""

import itertools
import re
import sys
import time

import pytest

pytestmark = pytest.mark.slow

# Slurm's exit code for a process that the kernel killed at its memory limit.
OUT_OF_MEMORY = "0:125"


# The profile gives rules with the names of the measuring ones a node of their own. `measure` needs more memory than its
# first attempt gets.
WORKFLOW = f"""
localrules: all, ordinary_jobs_are_running

rule all:
    input: "ordinary.0", "ordinary.1", "measured", "interrupted"

rule ordinary:
    output: "ordinary.{{number}}"
    shell:
        "echo $SLURM_JOB_ID > {{output}}; "
        "for i in $(seq 100); do [ $(squeue -h -t PD | wc -l) = 2 ] && break; sleep 0.2; done"

rule ordinary_jobs_are_running:
    output: "running"
    shell: "for i in $(seq 100); do [ $(squeue -h -t R | wc -l) = 2 ] && break; sleep 0.2; done; touch {{output}}"

rule measure:
    input: "running"
    output: "measured"
    resources: mem_mb=lambda wildcards, attempt: 500 * 2 ** (attempt - 1), slots=100
    shell: "echo {{resources.mem_mb}} $SLURM_JOB_ID >> attempts; {sys.executable} eat.py && touch {{output}}"

rule measure_interrupted:
    input: "running"
    output: "interrupted"
    resources: mem_mb=400, slots=100
    shell: "sleep 1; touch {{output}}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("workflow")


@pytest.fixture(scope="module")
def run(one_node, folder):
    """Run the workflow in one call of Snakemake."""
    (folder / "eat.py").write_text("import sys; eaten = b'x' * (500 << 20); sys.exit(len(eaten) != 500 << 20)\n")
    (folder / "Snakefile").write_text(WORKFLOW)
    return one_node.snakemake(cwd=folder)


@pytest.mark.end_to_end
def test_terminal_shows_failures_and_retries_only(run):
    assert "Error in rule measure" in run.output
    assert "Trying to restart job" in run.output
    assert re.search(r"external_jobid: \d+", run.output)
    assert run.output.splitlines()[-1].startswith("Complete log")
    assert "has been submitted" not in run.output


def overlap(one, other):
    return one["StartTime"] < other["EndTime"] and other["StartTime"] < one["EndTime"]


@pytest.mark.end_to_end
def test_jobs_run_through_slurm(run, folder):
    jobs = {job["JobId"]: job for job in run.jobs_of("ordinary")}
    assert set(jobs) == {(folder / f"ordinary.{number}").read_text().strip() for number in (0, 1)}
    assert {job["JobState"] for job in jobs.values()} == {"COMPLETED"}, "a job was retried"
    assert all("mem=1000M" in job["TRES"] for job in jobs.values()), "a job lacks the profile's default request"


@pytest.mark.end_to_end
def test_job_killed_for_memory_is_retried_with_more(run, folder):
    killed, finished = run.jobs_of("measure")
    assert (folder / "measured").exists()
    # Each attempt is a new job: inside the first, its limit would also hold for the retry.
    attempts = [line.split() for line in (folder / "attempts").read_text().splitlines()]
    assert attempts == [["500", killed["JobId"]], ["1000", finished["JobId"]]]
    # The kill is in a step below the batch script, so the job itself may only be marked as failed.
    assert killed["JobState"] in {"FAILED", "OUT_OF_MEMORY"}
    assert OUT_OF_MEMORY in {killed["DerivedExitCode"], killed["ExitCode"]}
    assert "mem=500M" in killed["TRES"]
    assert finished["JobState"] == "COMPLETED"
    assert (finished["ExitCode"], finished["DerivedExitCode"]) == ("0:0", "0:0")
    assert "mem=1000M" in finished["TRES"]


@pytest.mark.end_to_end
def test_measuring_jobs_run_alone_on_a_node(run):
    ordinary = run.jobs_of("ordinary")
    measuring = run.jobs_of("measure") + run.jobs_of("measure_interrupted")
    assert (len(ordinary), len(measuring)) == (2, 3)
    assert overlap(*ordinary)
    for job, other in itertools.product(measuring, run.jobs):
        assert job is other or not overlap(job, other), (job["Comment"], other["Comment"])
    for job in measuring:
        assert job["OverSubscribe"] == "NO"
        # All cores of the machine, but only the requested memory.
        assert int(job["NumCPUs"]) > int(ordinary[0]["NumCPUs"])
    assert all("mem=400M" in job["TRES"] for job in run.jobs_of("measure_interrupted"))


def test_nothing_listens_beyond_loopback(slurm, tmp_path):
    idle = slurm.listening()
    job = slurm.call("sbatch", "--parsable", f"--output={tmp_path}/log", "--wrap=srun sleep 20").strip()
    # srun opens more sockets on the machine where the job runs.
    deadline = time.monotonic() + 60
    while len(busy := slurm.listening()) <= len(idle) and time.monotonic() < deadline:
        time.sleep(0.1)
    slurm.call("scancel", job)
    assert len(idle) >= 3 + slurm.accounting, "slurmctld, slurmd of two nodes, slurmdbd"
    assert len(busy) > len(idle), (tmp_path / "log").read_text()
    assert [address for address in idle + busy if not address.startswith("127.0.0.1:")] == []
