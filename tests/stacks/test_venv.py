"""Environments of stacks: building them, alone and at the same time; failures; folders that must not be removed."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from beyond_ram.cli import main
from beyond_ram.folders import MARK, ForeignFolderError
from beyond_ram.stacks import venv
from beyond_ram.stacks.locks import StackError
from beyond_ram.stacks.variants import INFEASIBLE
from beyond_ram.stacks.venv import MARKER

from ..conftest import ROOT


def small_lock(folder):
    """Write a lock of one small package."""
    (block,) = re.findall(r"(?m)^packaging==.*\n(?:    .*\n)*", (ROOT / "envs/current.txt").read_text())
    (folder / "one.txt").write_text(block)
    return folder / "one.txt"


def builder(lock, folder, **environment):
    """Start a process that builds an environment."""
    command = [sys.executable, "-m", "beyond_ram", "stack", "build", str(lock), str(folder)]
    full_environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(command, env=full_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_whole(folder):
    """Return whether the environment's Python runs and has the package."""
    return subprocess.run([folder / "bin/python", "-I", "-c", "import packaging"], capture_output=True).returncode == 0


def planted_uv(folder, before):
    """Return a PATH with a uv that runs a command first."""
    folder.mkdir()
    (folder / "uv").write_text(f'#!/bin/sh\n{before}\nexec {shutil.which("uv")} "$@"\n')
    (folder / "uv").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_foreign_folder_is_not_removed(envs):
    locks = envs.parent / ".stacks" / "locks"
    locks.mkdir(parents=True)
    (locks / "mine+a-1.txt").write_text("a==1\n")
    with pytest.raises(ForeignFolderError, match="is not empty and was not made by beyond-ram"):
        venv.build(envs / "mine.txt", locks)
    assert (locks / "mine+a-1.txt").read_text() == "a==1\n"


def test_old_environment_is_rebuilt(envs):
    folder = envs.parent / ".stacks" / "mine"
    folder.mkdir(parents=True)
    for name in ("old", MARK, MARKER):
        (folder / name).touch()
    lock = envs / "mine.txt"
    lock.write_text(f"{INFEASIBLE}it cannot be\n")
    venv.build(lock, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted([MARK, MARKER])


@pytest.mark.slow
def test_failed_build_leaves_no_folder(tmp_path):
    lock = tmp_path / "none.txt"
    lock.write_text("no-such-package-at-all==1 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(StackError, match="cannot be built"):
        venv.build(lock, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    lock.write_text("")
    venv.build(lock, tmp_path / "none")
    assert {MARK, MARKER, "bin"} <= {path.name for path in (tmp_path / "none").iterdir()}


def test_environment_is_compiled_despite_the_variables_of_python(tmp_path, monkeypatch):
    """Otherwise the first run would compile its imports, and every run if the folder is read-only."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "elsewhere"))
    venv.build(small_lock(tmp_path), tmp_path / "one")
    assert {"__init__.cpython-311.pyc"} <= {path.name for path in (tmp_path / "one").rglob("packaging/__pycache__/*")}


@pytest.mark.slow
def test_exclude_newer_of_the_current_folder_is_ignored(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.uv]\nexclude-newer = "2001-01-01T00:00:00Z"\n')
    monkeypatch.chdir(tmp_path)
    venv.build(small_lock(tmp_path), tmp_path / "stack")
    assert is_whole(tmp_path / "stack")


@pytest.mark.slow
def test_only_one_of_several_builders_builds(tmp_path):
    lock, folder, ran = small_lock(tmp_path), tmp_path / "one", tmp_path / "ran"
    path = planted_uv(tmp_path / "bin", f'[ "$1" != venv ] || echo . >> {ran}; sleep 0.1')
    builders = [builder(lock, folder, PATH=path) for _ in range(5)]
    outputs = [process.communicate(timeout=120) for process in builders]
    assert [process.returncode for process in builders] == [0] * 5, outputs
    assert ran.read_text() == ".\n"
    assert is_whole(folder)
    assert venv.is_built(lock, folder)


@pytest.mark.slow
def test_builder_waits_for_the_uv_of_a_killed_one(tmp_path):
    """Its uv goes on writing into the folder. The next builder must not mark a half environment as complete."""
    lock, folder, began, ended = small_lock(tmp_path), tmp_path / "one", tmp_path / "began", tmp_path / "ended"
    path = planted_uv(tmp_path / "bin", f"touch {began}; sleep 1; touch {ended}")
    killed = builder(lock, folder, PATH=path)
    while not began.exists():
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    assert not ended.exists()
    second = builder(lock, folder)
    _, output = second.communicate(timeout=120)
    assert ended.exists()
    assert second.returncode == 0, output
    assert output == f"{folder}: another process builds it; waiting for that\n"
    assert is_whole(folder)


@pytest.mark.slow
def test_one_stack_at_a_time_installs_torch(tmp_path):
    """The next one then takes it from uv's cache."""
    lock, log = small_lock(tmp_path), tmp_path / "log"
    lock.write_text(f"{lock.read_text()}torch==1.0\n")
    torch = f'[ "$2" != install ] || {{ echo begin >> {log}; sleep 0.5; echo end >> {log}; exit 0; }}'
    path = planted_uv(tmp_path / "bin", torch)
    builders = [builder(lock, tmp_path / name, PATH=path) for name in ("a", "b", "c")]
    outputs = [process.communicate(timeout=120) for process in builders]
    assert [process.returncode for process in builders] == [0] * 3, outputs
    assert log.read_text().split() == ["begin", "end"] * 3


def test_marker_is_removed_first(tmp_path, monkeypatch):
    lock, folder = small_lock(tmp_path), tmp_path / "one"
    folder.mkdir()
    (folder / MARKER).write_text("an older lock")

    def killed(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(venv, "fresh", killed)
    with pytest.raises(KeyboardInterrupt):
        venv.build(lock, folder)
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_cached_packages_need_no_index(tmp_path, monkeypatch):
    lock = small_lock(tmp_path)
    venv.build(lock, tmp_path / "cached")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    venv.build(lock, tmp_path / "one")
    assert is_whole(tmp_path / "one")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.raises(StackError, match=r"one\.txt: its environment cannot be built\n.*[Ff]ailed"):
        venv.build(lock, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "no text", "another hash", "empty file of a package"])
def test_damaged_lock_gets_no_environment(tmp_path, damage, capfd):
    lock = small_lock(tmp_path)
    text = lock.read_text()
    damaged = {
        "cut": text[: len(text) // 3].encode(),
        "no text": b"\xff\x00\x80" * 40,
        "another hash": re.sub("sha256:[0-9a-f]{8}", "sha256:00000000", text).encode(),
        "empty file of a package": b"packaging==\n",
    }
    lock.write_bytes(damaged[damage])
    assert main(["stack", "build", str(lock), str(tmp_path / "one")]) == 2
    message = capfd.readouterr().err
    assert str(lock) in message.splitlines()[0]
    assert "Traceback" not in message
    assert not (tmp_path / "one").exists()
