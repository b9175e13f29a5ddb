"""However a Snakemake ends, what it weighed ends with it, and a rerun never shares a private folder."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from beyond_ram.watch import procfs

ROOT = Path(__file__).parents[2]
PHASES = ("prepare", "first", "weighed", "check")
# Stops in the phase that its cell names, with a child in a session of its own that hears no signal.
PROGRAM = """
import os, pathlib, signal, subprocess, sys, time
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
phase = "prepare" if "--prepare" in sys.argv else "check" if "--check" in sys.argv else "first"
phase = "weighed" if "BEYOND_RAM_EVENTS" in os.environ else phase
work = pathlib.Path(given["--work-dir"])
(work / phase).touch(exist_ok=False)  # in a folder that somebody else has used, this fails
if phase == given["--case"] and (pathlib.Path.cwd() / "hang").exists():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["setsid", "sleep", "100"])
    (pathlib.Path.cwd() / f"{phase}.reached").touch()
    time.sleep(100)
if phase == "check":
    print('{"rows": 1}')
"""
SNAKEFILE = """
rule all:
    input: expand("runs/guarded/stack~current/case~{{phase}}/cache~warm/rep~1/run.json", phase={phases})

rule weigh:
    output: "runs/guarded/stack~current/case~{{phase}}/cache~warm/rep~1/run.json"
    log: "{{phase}}.log"
    shell:
        "beyond-ram weigh --runs runs --work private --workload planted --program program.py --python {python} "
        "--lock {lock} --prepare --check guarded/stack~current/case~{{wildcards.phase}}/cache~warm/rep~1 2> {{log}}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    text = SNAKEFILE.format(phases=list(PHASES), python=sys.executable, lock=ROOT / "envs" / "current.txt")
    (tmp_path / "Snakefile").write_text(text)
    return tmp_path


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def snakemake(folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", "--cores", "4", "--directory", str(folder), "-s", "Snakefile", *more]


def until(true: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def living(processes: dict[int, bytes]) -> list[str]:
    """The processes that still run, told from others of the same number by when they began."""
    return [f"{pid} {procfs.name(pid)}" for pid, began in processes.items() if began_at(pid) == began]


def began_at(pid: int) -> bytes | None:
    stat = (procfs.read(pid, "stat") or b"").rpartition(b") ")[2].split()
    return stat[19] if stat and stat[0] not in (b"Z", b"X") else None


def below(pid: int) -> dict[int, bytes]:
    return {child: began for child in procfs.descendants(pid) if (began := began_at(child))}


@pytest.fixture
def processes() -> Iterator[dict[int, bytes]]:
    """What the test has started, ended by their ids afterwards."""
    started: dict[int, bytes] = {}
    yield started
    for pid, began in started.items():
        if began_at(pid) == began:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_snakemake_takes_every_phase_along_and_its_rerun_completes(
    folder: Path, processes: dict[int, bytes]
) -> None:
    (folder / "hang").touch()
    with (folder / "out").open("w") as out:
        first = subprocess.Popen(snakemake(folder), env=environment(), cwd=folder, stdout=out, stderr=out)
        try:
            for phase in PHASES:
                until((folder / f"{phase}.reached").exists, 60, f"{phase} was not reached: {logs(folder)}")
            processes |= below(first.pid)
        finally:
            first.kill()
            first.wait()
    assert len(processes) > 4 * len(PHASES)
    until(lambda: not living(processes), 2, f"left running: {living(processes)}")
    assert not list((folder / "runs").rglob("run.json"))
    (folder / "hang").unlink()
    subprocess.run(snakemake(folder, "--unlock"), env=environment(), cwd=folder, check=True, capture_output=True)
    again = subprocess.run(snakemake(folder, "--rerun-incomplete"), env=environment(), cwd=folder, capture_output=True)
    assert again.returncode == 0, again.stderr.decode() + logs(folder)
    for phase in PHASES:
        run = folder / f"runs/guarded/stack~current/case~{phase}/cache~warm/rep~1/run.json"
        assert json.loads(run.read_text())["outcome"] == "completed"
    assert not (folder / "private").exists(), "private folders are left"


def logs(folder: Path) -> str:
    return "".join(f"\n{path.name}: {path.read_text()}" for path in sorted(folder.glob("*.log")))


def weigh(folder: Path, phase: str) -> list[str]:
    path = f"guarded/stack~current/case~{phase}/cache~warm/rep~1"
    command = ["beyond-ram", "weigh", "--runs", "runs", "--work", "private", "--workload", "planted"]
    command += ["--program", "program.py", "--python", sys.executable, "--lock", str(ROOT / "envs" / "current.txt")]
    return [*command, "--prepare", "--check", path]


def test_a_second_one_is_refused_and_names_who_holds_the_folder(folder: Path, processes: dict[int, bytes]) -> None:
    (folder / "hang").touch()
    first = subprocess.Popen(weigh(folder, "first"), env=environment(), cwd=folder, stderr=subprocess.DEVNULL)
    until((folder / "first.reached").exists, 20, "the first was not reached")
    processes |= below(first.pid)
    second = subprocess.run(weigh(folder, "first"), env=environment(), cwd=folder, capture_output=True, text=True)
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"process {first.pid}" in second.stderr
    assert "case~first" in second.stderr
    assert first.poll() is None, "the first was disturbed"
    first.terminate()
    assert first.wait(10) == 128 + signal.SIGTERM
    until(lambda: not living(processes), 2, f"left running: {living(processes)}")
    assert not (folder / "private").exists(), "its private folder is left"


def test_a_lock_whose_holder_was_killed_holds_nobody_up(folder: Path, processes: dict[int, bytes]) -> None:
    (folder / "hang").touch()
    first = subprocess.Popen(weigh(folder, "check"), env=environment(), cwd=folder, stderr=subprocess.DEVNULL)
    until((folder / "check.reached").exists, 20, "the check was not reached")
    processes |= below(first.pid)
    first.kill()
    first.wait()
    (folder / "hang").unlink()
    second = subprocess.run(weigh(folder, "check"), env=environment(), cwd=folder, capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    assert not living(processes)


def test_an_endpoint_is_gone_with_the_weighing_beside_which_it_ran(tmp_path: Path, processes: dict[int, bytes]) -> None:
    (tmp_path / "repository").mkdir()
    code = """
import pathlib, sys, time
from beyond_ram.experiment import Cell
from beyond_ram.weighing.served import serving
here = pathlib.Path.cwd()
with serving(Cell("streams", (), 1), here / "repository", None, here, sys.executable) as served:
    print(served.environment["HF_ENDPOINT"], flush=True)
    time.sleep(100)
"""
    weighing = subprocess.Popen(
        [sys.executable, "-c", code], env=environment(), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert weighing.stdout
    host, _, port = weighing.stdout.readline().strip().removeprefix("http://").partition(":")
    processes |= below(weighing.pid)
    with socket.create_connection((host, int(port))):  # a client that is still there holds no server up
        weighing.kill()
        weighing.communicate()
        until(lambda: not living(processes), 2, f"left running: {living(processes)}")
