"""Only folders that beyond-ram made are replaced or removed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beyond_ram.folders import MARK, ForeignFolderError, fresh, mark, remove, replaced


def foreign(folder):
    folder.mkdir(parents=True)
    (folder / "precious.txt").write_text("here")
    return folder


def fill(out, text):
    with replaced(out) as folder:
        assert not list(folder.iterdir())
        (folder / "new.txt").write_text(text)


def test_own_folder_is_replaced_whole(tmp_path):
    out = tmp_path / "out"
    fill(out, "first")
    (out / "more").mkdir()
    fill(out, "second")
    assert sorted(path.name for path in out.iterdir()) == [MARK, "new.txt"]
    assert (out / "new.txt").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    fill(tmp_path / "out", "text")


@pytest.mark.parametrize("replace", [lambda out: fill(out, "text"), fresh, remove])
def test_foreign_folders_are_refused(tmp_path, replace):
    out = foreign(tmp_path / "out")
    with pytest.raises(ForeignFolderError, match="is not empty and was not made by beyond-ram"):
        replace(out)
    link = tmp_path / "link"
    link.symlink_to(out)
    with pytest.raises(ForeignFolderError, match="is a link"):
        replace(link)
    (tmp_path / "file").write_text("here")
    with pytest.raises(ForeignFolderError, match="is a file"):
        replace(tmp_path / "file")
    assert [path.name for path in out.iterdir()] == ["precious.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "out"]


@pytest.mark.parametrize("out", [".", "..", "inner/..", "/"])
def test_working_directory_and_its_parents_are_never_replaced(tmp_path, monkeypatch, out):
    project = foreign(tmp_path / "project")
    mark(project)
    monkeypatch.chdir(project)
    (project / "inner").mkdir()
    with pytest.raises(ForeignFolderError):
        fill(Path(out), "text")
    assert (project / "precious.txt").read_text() == "here"


def test_links_inside_are_removed_and_not_followed(tmp_path):
    precious = foreign(tmp_path / "precious")
    fresh(tmp_path / "made")
    (tmp_path / "made" / "link").symlink_to(precious)
    remove(tmp_path / "made")
    assert (precious / "precious.txt").exists()
    assert not (tmp_path / "made").exists()


def test_folder_with_a_similar_name_stays(tmp_path):
    alike = foreign(tmp_path / ".out.making-mine")
    fill(tmp_path / "out", "text")
    assert (alike / "precious.txt").exists()


def make(out, code):
    return [sys.executable, "-m", "beyond_ram", "make", "--out", str(out), "--", sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 15)", 143), ("1 / 0", 1)]
)
def test_failing_program_changes_nothing_and_its_status_is_returned(tmp_path, code, status):
    fill(tmp_path / "out", "before")
    done = subprocess.run(make(tmp_path / "out", code), capture_output=True, check=False)
    assert done.returncode == status
    assert (tmp_path / "out" / "new.txt").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_foreign_folder_gets_one_line_before_the_program_runs(tmp_path):
    out = foreign(tmp_path / "my out")
    ran = tmp_path / "ran"
    done = subprocess.run(
        make(out, f"open({str(ran)!r}, 'w')"), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "my out is not empty" in done.stderr
    assert not ran.exists()


@pytest.mark.slow
def test_ignored_signal_stays_ignored(tmp_path):
    started = tmp_path / "started"
    code = f"import time; open({str(started)!r}, 'w'); time.sleep(1)"
    process = subprocess.Popen(
        make(tmp_path / "out", code), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(timeout=30) == 0
    assert (tmp_path / "out" / MARK).exists()
