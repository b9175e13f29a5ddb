"""All measuring processes end with their Snakemake, and a rerun never shares a private folder."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time

import pytest

from beyond_ram.records import cell_runs

from .hanging import PHASES, began_at, below, cell, environment, living, logs, make, measure

pytestmark = pytest.mark.slow

SNAKEFILE = """
rule all:
    input: expand("runs/guarded/stack~current/case~{{phase}}/cache~warm/rep~1/run.json", phase={phases})

rule measure:
    output: "runs/guarded/stack~current/case~{{phase}}/cache~warm/rep~1/run.json"
    log: "{{phase}}.log"
    shell: {command!r}
"""


@pytest.fixture
def folder(tmp_path):
    make(tmp_path)
    command = shlex.join(measure("PHASE")).replace("{", "{{").replace("}", "}}").replace("PHASE", "{wildcards.phase}")
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(phases=list(PHASES), command=f"{command} 2> {{log}}"))
    return tmp_path


def snakemake(folder, *more):
    return [sys.executable, "-m", "snakemake", "--cores", "5", "--directory", str(folder), "-s", "Snakefile", *more]


def until(true, seconds, what):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def processes():
    """Collect the processes that a test starts, and kill them afterwards."""
    started = {}
    yield started
    for pid, began in started.items():
        if began_at(pid) == began:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_every_phase_ends_with_a_killed_snakemake_and_reruns(folder, processes, path):
    (folder / "hang").write_text("sleep")
    with (folder / "out").open("w") as out:
        first = subprocess.Popen(snakemake(folder), env=environment(folder), cwd=folder, stdout=out, stderr=out)
        try:
            for phase in PHASES:
                until((folder / f"{phase}.reached").exists, 60, f"{phase} was not reached: {logs(folder)}")
            processes |= below(first.pid)
        finally:
            first.kill()
            first.wait()
    assert len(processes) > 4 * len(PHASES)
    until(lambda: not living(processes), 60, f"left running: {living(processes)}")
    assert not list((folder / "runs").rglob("run.json"))
    (folder / "hang").unlink()
    forking = environment(folder) | {"PATH": f"{folder / 'bin'}:{path}"}
    words = ["snakemake", *snakemake(folder, "--nolock", "--rerun-incomplete")[3:]]
    again = subprocess.run(words, env=forking, cwd=folder, capture_output=True)
    assert again.returncode == 0, again.stderr.decode() + logs(folder)
    for phase in PHASES:
        assert cell_runs.run(folder / "runs" / cell(phase))[0]["outcome"] == "completed"
    assert not (folder / "private").exists(), "private folders are left"


def test_second_measurement_is_refused_with_the_first_ones_pid(folder, processes):
    (folder / "hang").write_text("sleep")
    first = subprocess.Popen(measure("first"), env=environment(folder), cwd=folder, stderr=subprocess.DEVNULL)
    until((folder / "first.reached").exists, 60, "the first was not reached")
    processes |= below(first.pid)
    second = subprocess.run(measure("first"), env=environment(folder), cwd=folder, capture_output=True, text=True)
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"process {first.pid}" in second.stderr
    assert "case~first" in second.stderr
    assert first.poll() is None, "the first was disturbed"
    first.terminate()
    assert first.wait(60) == 128 + signal.SIGTERM
    until(lambda: not living(processes), 60, f"left running: {living(processes)}")
    assert not (folder / "private").exists(), "its private folder is left"


def test_lock_of_a_killed_measurement_is_released(folder, processes):
    (folder / "hang").write_text("sleep")
    first = subprocess.Popen(measure("check"), env=environment(folder), cwd=folder, stderr=subprocess.DEVNULL)
    until((folder / "check.reached").exists, 60, "the check was not reached")
    processes |= below(first.pid)
    first.kill()
    first.wait()
    (folder / "hang").unlink()
    second = subprocess.run(measure("check"), env=environment(folder), cwd=folder, capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    assert not living(processes)


def test_endpoint_ends_with_its_killed_measurement(tmp_path, processes):
    (tmp_path / "repository").mkdir()
    code = """
import pathlib, sys, time
from beyond_ram.experiment import Served
from beyond_ram.measure.served import serving
here = pathlib.Path.cwd()
with serving(Served(repository="repository"), here / "repository", here, sys.executable) as served:
    print(served.environment["HF_ENDPOINT"], flush=True)
    time.sleep(100)
"""
    measuring = subprocess.Popen(
        [sys.executable, "-c", code], env=environment(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert measuring.stdout
    host, _, port = measuring.stdout.readline().strip().removeprefix("http://").partition(":")
    processes |= below(measuring.pid)
    with socket.create_connection((host, int(port))):  # an open connection does not keep the server alive
        measuring.kill()
        measuring.communicate()
        until(lambda: not living(processes), 60, f"left running: {living(processes)}")
