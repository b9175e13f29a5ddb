"""A disk that is full while the workflow writes: no half-written file is taken for a whole one."""

import errno
import subprocess

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from beyond_ram import figures
from beyond_ram.files import DamagedError
from beyond_ram.measure import served
from beyond_ram.records import cell_runs, tables
from beyond_ram.report import page as page_of

from .measure import hanging

MB = 1 << 20


class Disk:
    """A small file system."""

    def __init__(self, folder):
        self.folder, self._ballast = folder / "results", folder / "ballast"
        self.folder.mkdir()

    def fill(self, left_bytes):
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError as error:
                assert error.errno == errno.ENOSPC
            file.truncate(file.tell() - left_bytes)

    def free(self):
        self._ballast.unlink()

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def disk(small_disk):
    return Disk(small_disk)


def table(folder):
    tables.write(pd.DataFrame({"a": range(9000)}), folder / "t.csv", folder / "t.parquet")


def figure(folder):
    figures.theme()
    drawing, axes = plt.subplots()
    axes.plot(range(2000))
    svg, png, caption = (str(folder / f"f.{ending}") for ending in ("svg", "png", "txt"))
    figures.save(drawing, "A line.", svg=svg, png=png, caption_file=caption)


def page(folder):
    differences = [{"sides": "x" * 4000, "packages": ""}] * 25
    page_of.write("changes.html.jinja", folder / "page.html", summary="", differences=differences, lines=[])


def requests(folder):
    served.write_csv([{"t_s": 1.5, "path": "/a" * 1000}] * 100, folder / "requests.csv")


@pytest.mark.slow
@pytest.mark.parametrize("left_bytes", [0, 8192])
@pytest.mark.parametrize("write", [table, figure, page, requests])
def test_full_disk_leaves_the_old_file_or_none(disk, write, left_bytes):
    write(disk.folder)
    whole = disk.files()
    disk.fill(left_bytes)
    with pytest.raises(OSError, match="No space left"):
        write(disk.folder)
    assert disk.files() == whole
    disk.free()
    for path in whole:
        path.unlink()
    disk.fill(left_bytes)
    with pytest.raises(OSError, match="No space left"):
        write(disk.folder)
    assert all(whole[path] == content for path, content in disk.files().items())
    disk.free()
    write(disk.folder)
    assert disk.files() == whole


@pytest.mark.slow
@pytest.mark.parametrize("left_bytes", [0, pytest.param(8192, marks=pytest.mark.end_to_end)])
def test_run_on_a_full_disk_is_not_readable(disk, tmp_path, left_bytes):
    hanging.make(tmp_path)
    command = hanging.measure("measured")
    command[command.index("runs")] = str(disk.folder / "runs")
    folder = disk.folder / "runs" / hanging.cell("measured")

    def measure():
        return subprocess.run(command, cwd=tmp_path, env=hanging.environment(tmp_path), capture_output=True, text=True)

    disk.fill(left_bytes)
    refused = measure()
    assert refused.returncode == 2, refused.stderr
    assert "Traceback" not in refused.stderr
    with pytest.raises(DamagedError):
        cell_runs.run(folder)
    disk.free()
    assert measure().returncode == 0
    cell_runs.run(folder)
    cell_runs.samples(folder)
