"""Writing a file whole: only regular files and links are replaced, and no link is followed."""

import contextlib
import importlib.util
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram import files, folders
from beyond_ram.watch.outfile import OutFile, copy

RECORDS = Path(__file__).parents[1] / "beyond_ram/tokenize/engine/records.py"


def write_by_engine(path):
    spec = importlib.util.spec_from_file_location("records", RECORDS)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_json(path, {"new": 1})


def write_whole(path):
    with files.whole(path) as partial:
        partial.write_text("new")


def write_delivered(path):
    scratch = path.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    file = OutFile(scratch / "lines")
    file.append("new")
    try:
        file.deliver(path)
    finally:
        file.close()
        (scratch / "lines").unlink(missing_ok=True)
        scratch.rmdir()


WRITERS = {
    "whole": write_whole,
    "write": lambda path: files.write(path, "new"),
    "outfile": lambda path: copy([b"new"], path),
    "delivered": write_delivered,
    "engine": write_by_engine,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
# The engine does not keep modes, and cleans its folder at its start (tests/tokenize/engine/test_faults.py).
DRIVER = {name: write for name, write in WRITERS.items() if name != "engine"}
every_writer_of_the_driver = pytest.mark.parametrize("write", DRIVER.values(), ids=DRIVER)


@pytest.fixture
def victim(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    return victim


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@every_writer
@pytest.mark.parametrize("planted", [".partial-run.json", "run.json.partial", ".run.json.partial"])
def test_planted_link_is_not_followed(write, planted, folder, victim):
    (folder / planted).symlink_to(victim)
    write(folder / "run.json")
    assert victim.read_text() == "precious"
    assert (folder / planted).is_symlink()
    assert "new" in (folder / "run.json").read_text()


@every_writer
@pytest.mark.parametrize("dangling", [False, True])
def test_link_is_replaced_and_its_target_stays(write, dangling, folder, victim):
    if dangling:
        victim.unlink()
    (folder / "run.json").symlink_to(victim)
    write(folder / "run.json")
    assert not (folder / "run.json").is_symlink()
    assert "new" in (folder / "run.json").read_text()
    assert not victim.exists() if dangling else victim.read_text() == "precious"


def fifo(path):
    os.mkfifo(path)


def device(path, kind=stat.S_IFCHR | 0o666, number=(1, 3)):
    try:
        os.mknod(path, kind, os.makedev(*number))
    except PermissionError:
        pytest.skip("only root makes a device")


def disk(path):
    device(path, stat.S_IFBLK | 0o600, (7, 250))


def unix_socket(path):
    here = Path.cwd()
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
    assert Path.cwd() == here


SPECIAL = {"fifo": fifo, "device": device, "disk": disk, "socket": unix_socket, "folder": Path.mkdir}


@every_writer
@pytest.mark.parametrize("behind_a_link", [False, True])
@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_special_files_are_refused(write, make, behind_a_link, folder):
    make(folder / "special")
    target = folder / "special"
    if behind_a_link:
        target = folder / "run.json"
        target.symlink_to(folder / "special")
    before = [path.lstat() for path in sorted(folder.iterdir())]
    with pytest.raises(OSError, match=r"regular file|is a folder") as error:
        write(target)
    assert str(error.value).count("\n") == 0
    after = [path.lstat() for path in sorted(folder.iterdir())]
    assert [(status.st_ino, status.st_mode) for status in before] == [
        (status.st_ino, status.st_mode) for status in after
    ]


@every_writer_of_the_driver
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_new_file_has_the_default_mode_and_a_replaced_one_keeps_its_own(write, umask, folder):
    earlier = os.umask(umask)
    try:
        write(folder / "run.json")
    finally:
        os.umask(earlier)
    assert stat.S_IMODE((folder / "run.json").stat().st_mode) == 0o666 & ~umask
    if write is WRITERS["delivered"]:
        return
    (folder / "run.json").chmod(0o640)
    write(folder / "run.json")
    assert stat.S_IMODE((folder / "run.json").stat().st_mode) == 0o640
    assert names(folder) == ["run.json"]


def test_missing_folder_is_named(folder):
    with pytest.raises(FileNotFoundError, match=r"no such folder: .*nothing'$"):
        files.write(folder / "nothing" / "a.txt", "new")


def test_error_leaves_the_old_file(folder):
    (folder / "a.txt").write_text("before")
    with pytest.raises(RuntimeError), files.whole(folder / "a.txt") as partial:
        partial.write_text("half")
        raise RuntimeError
    assert names(folder) == ["a.txt"]
    assert (folder / "a.txt").read_text() == "before"


def test_partial_file_that_became_a_link_is_not_delivered(folder, victim):
    with pytest.raises(FileExistsError), files.whole(folder / "a.txt") as partial:
        partial.unlink()
        partial.symlink_to(victim)
    assert names(folder) == []
    assert victim.read_text() == "precious"


def test_target_that_became_a_fifo_meanwhile_stays(folder):
    with pytest.raises(FileExistsError), files.whole(folder / "a.txt") as partial:
        partial.write_text("new")
        os.mkfifo(folder / "a.txt")
    assert (folder / "a.txt").is_fifo()
    assert names(folder) == ["a.txt"]


@pytest.mark.parametrize("path", ["/dev/stdout", "/proc/self/fd/1"])
def test_standard_output_is_not_replaced(path, folder):
    program = "import sys\nfrom beyond_ram import files\nfiles.check_target(sys.argv[1])"
    with (folder / "out").open("w") as out:
        done = subprocess.run([sys.executable, "-c", program, path], stdout=out, stderr=subprocess.PIPE, text=True)
    assert "FileExistsError" in done.stderr


def test_log_is_a_new_file(folder, victim):
    (folder / "log").symlink_to(victim)
    with files.log(folder / "log") as log:
        log.write("line\n")
        assert (folder / "log").read_text() == "line\n"
    assert victim.read_text() == "precious"


def test_mark_is_not_written_through_a_link(folder, tmp_path):
    (folder / folders.MARK).symlink_to(tmp_path / "elsewhere")
    folders.mark(folder)
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def page():
    def run(target):
        words = ["watch", "--html", str(target), "--", "sleep", "0.1"]
        return subprocess.run([sys.executable, "-m", "beyond_ram", *words], capture_output=True, check=False)

    yield run


@pytest.mark.slow
@pytest.mark.parametrize("make", [unix_socket, Path.mkdir, device])
def test_impossible_page_is_refused_before_the_command_runs(make, page, folder):
    make(folder / "page.html")
    done = page(folder / "page.html")
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1 and b"page.html" in done.stderr
    assert b"outcome" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["samples.csv", "events.jsonl", "run.json"])
def test_fifo_in_place_of_a_runs_file_is_refused_before_the_run(name, folder):
    os.mkfifo(folder / name)
    words = ["watch", "--out", str(folder), "--", "touch", str(folder / "ran")]
    done = subprocess.run([sys.executable, "-m", "beyond_ram", *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1 and name in done.stderr
    assert names(folder) == [name] and (folder / name).is_fifo()
