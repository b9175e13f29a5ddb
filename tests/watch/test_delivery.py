"""Existing files in `--out`: those of an earlier run are replaced, others never."""

import os
import subprocess

import pytest

from beyond_ram.watch.delivery import Delivery
from beyond_ram.watch.missing import Missing

from .conftest import CLI, check_files


@pytest.mark.slow
def test_only_an_earlier_run_is_replaced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for seconds in ("0.1", "0.3"):
        subprocess.run([*CLI, "--out", str(tmp_path), "--", "sleep", seconds], check=True, capture_output=True)
    check_files(tmp_path, "notes.txt")
    assert '"0.3"' in (tmp_path / "run.json").read_text()


def test_folder_of_another_watcher_is_refused(tmp_path, refused):
    first = Delivery(tmp_path, Missing())
    first.make_scratch()
    assert "another watcher writes there" in refused("watch", "--out", str(tmp_path), "--", "touch", f"{tmp_path}/ran")
    first.clean_up()
    assert not list(tmp_path.iterdir())
    subprocess.run([*CLI, "--out", str(tmp_path), "--", "true"], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize(("status", "expected"), [(0, 1), (5, 5)])
def test_lost_page_leaves_the_run_and_a_status(status, expected, tmp_path):
    (tmp_path / "pages").mkdir()
    command = ["sh", "-c", f"rmdir {tmp_path}/pages; exit {status}"]
    done = subprocess.run(
        [*CLI, "--html", str(tmp_path / "pages" / "page.html"), "--", *command],
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == expected
    kept = next(tmp_path.glob("beyond-ram-*"))
    assert f"the run is in {kept}" in done.stderr.splitlines()[-1]
    check_files(kept)


@pytest.mark.slow
def test_names_of_lost_folders_are_shown_without_secrets(tmp_path):
    folder = tmp_path / "token=hunter2"
    folder.mkdir()
    options = [f"--{name}={folder / name}" for name in ("out", "html", "json")]
    command = ["sh", "-c", 'rm -r "$1"; touch "$1"', "sh", str(folder)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([*CLI, *options, "--", *command], capture_output=True, text=True, env=environment)
    (kept,) = tmp_path.glob("beyond-ram-kept-*")
    assert f"samples.csv: Not a directory: {tmp_path}/token=***; it is in {kept}" in done.stderr
    assert all(f"no {what} {tmp_path}/token=***" in done.stderr for what in ("page", "document")), done.stderr
    assert "hunter2" not in done.stderr + (kept / "run.json").read_text()


@pytest.mark.slow
def test_page_links_to_a_folder_that_is_no_utf8(tmp_path):
    command = [*CLI, "--out", os.fsencode(tmp_path) + b"/o\xff", "--html", str(tmp_path / "page.html"), "--", "true"]
    subprocess.run(command, check=True, capture_output=True)
    assert 'href="o%FF/run.json"' in (tmp_path / "page.html").read_text()
