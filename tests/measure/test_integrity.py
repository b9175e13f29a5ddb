"""Damaged inputs of a run are refused in one line before it is measured."""

import hashlib
import json
import subprocess
import time
from pathlib import Path

import pytest

from beyond_ram.experiment import Job, Served
from beyond_ram.files import DamagedError
from beyond_ram.measure import integrity

from . import hanging


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gone", "no program", "fails"])
def test_broken_interpreter_gets_one_line(tmp_path, kind):
    hanging.make(tmp_path)
    python = tmp_path / "stack" / "bin" / "python"
    python.parent.mkdir(parents=True)
    if kind != "gone":
        python.write_bytes({"no program": b"\x7fELF garbage", "fails": b"#!/bin/sh\nexit 3\n"}[kind])
        python.chmod(0o755)
    command = hanging.measure("measured")
    command[command.index("--python") + 1] = "stack/bin/python"
    done = subprocess.run(command, cwd=tmp_path, env=hanging.environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("beyond-ram: stack/bin/python: the interpreter of this stack cannot be run: ")
    assert done.stderr.endswith("delete the folder of its environment, and Snakemake builds it again\n")
    assert done.stderr.count("\n") == 1
    assert not list((tmp_path / "runs").rglob("run.json"))
    assert not (tmp_path / "private").exists()


@pytest.mark.parametrize("damage", ["deleted", "cut", "longer", "none"])
def test_damaged_package_is_refused(tmp_path, damage):
    packages = tmp_path / "stack/lib/python3.11/site-packages"
    (packages / "one-1.0.dist-info").mkdir(parents=True)
    (packages / "one.py").write_text("one = 1\n")
    (packages / "__pycache__").mkdir()
    (packages / "__pycache__/one.cpython-311.pyc").write_text("compiled anew")
    lines = ["one.py,sha256=x,8", "__pycache__/one.cpython-311.pyc,sha256=x,99", "one-1.0.dist-info/RECORD,,"]
    (packages / "one-1.0.dist-info/RECORD").write_text("\n".join(lines) + "\n")
    (tmp_path / "stack/beyond-ram.lock").touch()
    if damage == "deleted":
        (packages / "one.py").unlink()
    elif damage != "none":
        (packages / "one.py").write_text({"cut": "", "longer": "one = 111\n"}[damage])
    python = str(tmp_path / "stack/bin/python")
    if damage == "none":
        integrity.check_packages(python)
        return
    with pytest.raises(
        DamagedError, match=r"one\.py: .*installed with 8; delete .*stack, and Snakemake builds it again"
    ):
        integrity.check_packages(python)


@pytest.fixture
def job(tmp_path):
    """Create a job with a corpus of one file and a repository of one file."""
    file, shard = tmp_path / "corpus/files/000000.jsonl", tmp_path / "repository/datasets/local/few/data/a.parquet"
    for path in (file, shard):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 100)
    (shard.parents[1] / "README.md").write_text("of any length")
    files = [{"path": "files/000000.jsonl", "file_bytes": 100}]
    (tmp_path / "corpus/manifest.json").write_text(json.dumps({"files": files}))
    (tmp_path / "repository/manifest.json").write_text(json.dumps({"bytes": 100}))
    planted_job = Job(path=hanging.cell("any"), workload="soak", program="program.py", corpus=str(tmp_path / "corpus"))
    return planted_job.but(served=Served(repository=str(tmp_path / "repository")))


@pytest.mark.parametrize("name", ["corpus/files/000000.jsonl", "repository/datasets/local/few/data/a.parquet"])
@pytest.mark.parametrize("left_bytes", [None, 50, 101])
def test_data_of_another_size_are_refused(tmp_path, job, name, left_bytes):
    integrity.check_data(job)
    path = tmp_path / name
    if left_bytes is None:
        path.unlink()
    else:
        path.write_bytes(b"y" * left_bytes)
    where = tmp_path / name.partition("/")[0]
    with pytest.raises(DamagedError, match=rf"^{where}/.*made with 100; delete {where}/manifest.json, and Snakemake"):
        integrity.check_data(job)


def test_imports_are_named_where_the_script_is(tmp_path, monkeypatch):
    """A link as a link, an archive for what is in it; a name in the folder of the run as that of a neighbour."""
    monkeypatch.chdir(tmp_path)
    ran = tmp_path / "private/folder"
    for name in ("mine/lib/near.py", "far/far.py", "packed.zip"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    ran.mkdir(parents=True)
    (ran / "lib").symlink_to(tmp_path / "mine/lib")
    (tmp_path / "link").symlink_to(tmp_path / "far")
    names = [ran / "lib/near.py", tmp_path / "link/far.py", tmp_path / "packed.zip/inside.py", "no file"]
    event = {"event": "imports", "modules_from_elsewhere": {str(at): str(name) for at, name in enumerate(names)}}
    files = integrity.imported_files([event], Path("private/folder"), Path("mine/script.py"), time.time())
    assert list(files) == ["link/far.py", "mine/lib/near.py", "packed.zip"]
    assert files["link/far.py"] == hashlib.sha256(b"far/far.py").hexdigest()
    edited = integrity.imported_files([event], Path("private/folder"), Path("mine/script.py"), time.time() - 60)
    assert files.keys() == edited.keys() and {*edited.values()} == {integrity.CHANGED}


def test_interpreter_of_the_path_has_no_packages_to_check():
    integrity.check_packages("python3")
