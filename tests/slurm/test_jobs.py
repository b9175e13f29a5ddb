"""A job of a real Slurm: watching it on its node, and the line that its script, epilog and task epilog print."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import ROOT
from ..docs.pages import blocks
from ..watch.conftest import peaks_from, record_in
from .conftest import until

pytestmark = pytest.mark.slow

COMMAND = [str(Path(sys.executable).parent / "beyond-ram")]
HOLD = f"{shlex.quote(sys.executable)} -I -S -c 'import time; held = bytearray(%d_000_000); time.sleep(%g)'"
REQUESTED_MB = 500


def submit(slurm, folder, *lines):
    (folder / "job.sh").write_text("\n".join(["#!/bin/bash", *lines, ""]))
    options = ["--parsable", "-n1", f"--mem={REQUESTED_MB}", f"--output={folder}/job.out", f"--chdir={folder}"]
    return slurm.call("sbatch", *options, folder / "job.sh").strip()


def wait_until_ended(slurm, job):
    until(lambda: slurm.state(job) in ("COMPLETED", "FAILED"), "its end")


def test_late_attachment_has_the_peaks_of_an_early_one(one_node, tmp_path):
    """This includes steps by `srun`, which are not children of the job's script."""
    slurm = one_node
    job = submit(
        slurm, tmp_path, HOLD % (150, 0.5), "touch attach; sleep 1.5", f"srun {HOLD % (90, 1)}", HOLD % (60, 1)
    )
    follow = [*COMMAND, "watch", "--slurm", job, "--wait", "30", "--out"]
    first = subprocess.Popen([*follow, str(tmp_path / "first")], env=slurm.env, stderr=subprocess.DEVNULL)
    while not (tmp_path / "attach").exists():
        time.sleep(0.05)
    slurm.call(*follow, tmp_path / "second")
    assert first.wait(30) == 0
    began_at = record_in(tmp_path / "second")["started_at"] + 0.05
    whole, late = (peaks_from(tmp_path / name, began_at) for name in ("first", "second"))
    print(whole, late, file=sys.stderr)
    for kind, size in whole.items():
        assert late[kind] == pytest.approx(size, rel=0.01)
    assert late["anon_bytes"] > 90e6
    second_record = record_in(tmp_path / "second")
    assert second_record["attached"]["to"] == {"slurm_job": job}
    assert second_record["attached"]["before"]["cgroup_peak_bytes"] > 150e6
    assert second_record["peak"]["around"]["limit_bytes"] == REQUESTED_MB << 20


def blocks_with(words, others):
    """Return the blocks of docs/cluster.md that contain `words`, with the command and `others` replaced."""
    texts = [block.text for block in blocks(ROOT / "docs" / "cluster.md") if words in block.text]
    for before, after in {**others, "beyond-ram ": f"{shlex.join(COMMAND)} "}.items():
        texts = [text.replace(before, after) for text in texts]
    return texts


@pytest.fixture
def administered(one_node, tmp_path):
    """Put the lines of docs/cluster.md into effect, and return the folder that they write to."""
    conf, before = one_node.directory / "slurm.conf", (one_node.directory / "slurm.conf").read_text()
    to = {"/var/spool/beyond-ram": f"{tmp_path}/spool", "/var/log/beyond-ram.log": f"{tmp_path}/epilog.log"}
    to |= {'"$HOME/beyond-ram-jobs.log"': f"{tmp_path}/tasks.log"}
    [prolog] = blocks_with("setsid", to)
    [epilog] = blocks_with("--record", to)
    [task_epilog] = blocks_with("beyond-ram-jobs.log", to)
    lines = {"Prolog": prolog, "Epilog": epilog, "TaskEpilog": task_epilog}
    for name, line in lines.items():
        script = one_node.directory / name
        script.write_text(f"#!/bin/bash\n{line}\n")
        script.chmod(0o755)
    conf.write_text(before + "".join(f"{name}={one_node.directory / name}\n" for name in lines))
    try:
        one_node.call("scontrol", "reconfigure")
        yield tmp_path
    finally:
        conf.write_text(before)
        one_node.call("scontrol", "reconfigure")


def ask_mib(line):
    match = re.search(r"--mem=(\d+)M", line)
    assert match, line
    return int(match[1])


def test_epilogs_and_script_print_the_memory_request(administered, one_node):
    job = submit(one_node, administered, HOLD % (200, 3), f"srun {HOLD % (100, 1)}", f"{shlex.join(COMMAND)} job")
    wait_until_ended(one_node, job)
    until((administered / "epilog.log").exists, "the epilog")
    time.sleep(0.5)
    logs = {name: (administered / name).read_text() for name in ("epilog.log", "tasks.log", "job.out")}
    print(logs, file=sys.stderr)
    for text in logs.values():
        for line in text.splitlines():
            assert line.startswith(f"beyond-ram: job {job}: asked for {REQUESTED_MB * 2**20 / 1e6:,.0f} MB; used 2"), (
                line
            )
            assert 200 < ask_mib(line) < 400  # page cache that another test evicts meanwhile counts as kept
    assert re.search(r"2\d\d MB anonymous, \d+ MB file, 0 MB shared", logs["epilog.log"])
    assert "with page cache" in logs["job.out"]
    assert len(logs["epilog.log"].splitlines()) == 1


def test_job_completes_with_the_advised_request(one_node, tmp_path):
    job = submit(one_node, tmp_path, HOLD % (250, 0.5), f"{shlex.join(COMMAND)} job")
    wait_until_ended(one_node, job)
    mib = ask_mib((tmp_path / "job.out").read_text())
    again = one_node.call(
        "sbatch", "--parsable", "-n1", f"--mem={mib}", f"--output={tmp_path}/again.out", tmp_path / "job.sh"
    ).strip()
    wait_until_ended(one_node, again)
    assert one_node.state(again) == "COMPLETED"
    assert "killed" not in (tmp_path / "again.out").read_text()


def test_commands_of_the_page_work_in_a_script(one_node, tmp_path):
    """One watcher runs behind `srun`, one beside the steps until it is stopped; both watch the job's Python."""
    (tmp_path / "train.py").write_text("import time; held = bytearray(120_000_000); time.sleep(0.5)\n")
    [behind] = blocks_with("#SBATCH", {"#!/bin/bash\n": "", "#SBATCH --mem=8G\n": ""})
    [beside] = blocks_with(
        "srun python", {"follower=$!": "follower=$!; sleep 1", "wait $follower": "wait $follower; echo status $?"}
    )
    job = submit(one_node, tmp_path, f"srun {behind.replace('measured-$SLURM_JOB_ID', 'task')}", beside)
    wait_until_ended(one_node, job)
    output = (tmp_path / "job.out").read_text()
    assert record_in(tmp_path / "task")["peak"]["anon_bytes"] == pytest.approx(125e6, rel=0.1)
    run_record = record_in(tmp_path / f"measured-{job}")
    assert run_record["outcome"] == "detached"
    assert 120e6 < run_record["peak"]["anon_bytes"] < 200e6
    assert "status 0" in output
    assert output.count("ask for") == 2
    assert f"limit of {REQUESTED_MB * 2**20 / 1e6:,.0f} MB" in output
