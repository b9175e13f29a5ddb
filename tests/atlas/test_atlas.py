"""`beyond-ram atlas` on a case and releases of a made-up package from a local index."""

import os
import shutil

import pytest

from beyond_ram.atlas import tables
from beyond_ram.cli import main
from tests.bisect import served

BODY = "kept = bytearray(b'x' * {mb} * 1_000_000)\n"
CASE = """# /// script
# dependencies = ["stairs"]
# ///
'Imports it.'

import stairs

print(len(stairs.kept) > 0)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/stairs_import.py").write_text(CASE)
    wheels = [served.wheel(tmp_path, "stairs", version, BODY.format(mb=mb)) for version, mb in
              {"1.0.0": 10, "1.1.0": 60}.items()]  # fmt: skip
    pages = {"stairs": served.page("stairs", wheels, times=False)}
    with served.index(pages, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        yield tmp_path, pages, wheels


def atlas(*more):
    return main(["atlas", "--cases", "cases", "--out", "out", *more])


def runs(place):
    return {path: path.stat().st_mtime_ns for path in (place / "out/runs").rglob("run.json")}


@pytest.mark.slow
def test_step_is_confirmed_and_a_new_release_adds_only_its_cells(place, capfd):
    folder, pages, wheels = place
    assert atlas() == 0
    (step,) = [line for line in tables.read(folder / "out" / tables.STEPS) if line["metric"] == "end_anon_bytes"]
    assert (step["from_version"], step["to_version"], step["state"]) == ("1.0.0", "1.1.0", "confirmed")
    first = runs(folder)
    cells = [path for path in first if "/atlas/" in str(path)]
    assert len(cells) == 6  # two releases and the newest again, twice each
    assert "<table" in (folder / "out/atlas.html").read_text()

    wheels.append(served.wheel(folder, "stairs", "1.2.0", BODY.format(mb=60)))
    pages["stairs"] = served.page("stairs", wheels, times=False)
    shutil.rmtree(os.environ["UV_CACHE_DIR"])
    assert atlas() == 0
    second = runs(folder)
    assert {path for path in first if second[path] != first[path]} == set()
    new = [str(path) for path in second.keys() - first.keys() if "/atlas/" in str(path)]
    assert len(new) == 4 and all("stack~stairs-1.2.0" in path for path in new)
    (folder / "mine.txt").write_text("stairs==1.0.0\n")
    capfd.readouterr()
    assert main(["atlas", "compare", "mine.txt", "newest", "--atlas", "out"]) == 0
    assert "stairs 1.0.0 → 1.2.0" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [(["--library", "stair"], "did you mean 'stairs'"), (["--case", "none"], "no case has it")],
)
def test_bad_input_gets_one_line_and_writes_nothing(place, capfd, words, message):
    assert atlas(*words) == 2
    last = capfd.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("beyond-ram: ") and message in last and not (place[0] / "out").exists()


@pytest.mark.slow
def test_case_without_requirements_is_refused(place, capfd):
    (place[0] / "cases/plain.py").write_text("print(1)\n")
    assert atlas() == 2
    assert "dependencies" in capfd.readouterr().err and not (place[0] / "out").exists()
