"""`beyond-ram atlas` on a case and releases of a made-up package from a local index."""

import json
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
              {"1.0.0": 10, "1.1.0": 10, "1.2.0": 60}.items()]  # fmt: skip
    pages = {"stairs": served.page("stairs", wheels, times=False)}
    with served.index(pages, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        yield tmp_path, pages, wheels


def atlas(*more):
    return main(["atlas", "--cases", "cases", "--out", "out", *more])


def blocks(place):
    """The block and the release of each run, in the order in which they ran."""
    (file,) = place.glob("out/*/campaigns/stairs_import/blocks.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [(run["block"], run["member"]["side"]) for line in lines for run in line["runs"]]


def steps(place):
    lines = [line for line in tables.read(place / "out" / tables.STEPS) if line["metric"] == "end_anon_bytes"]
    return [(line["from_version"], line["to_version"], int(line["n"])) for line in lines]


@pytest.mark.slow
def test_step_is_confirmed_and_a_new_release_adds_only_its_cells(place, capfd):
    """Without a budget the first runs of each release are made, and suspected steps are not repeated."""
    folder, pages, wheels = place
    assert atlas("--budget", "0.001") == 0
    assert "the budget is used up, the same command goes on" in capfd.readouterr().out
    assert {name for name, _ in blocks(folder)} == {"screen"} and not steps(folder)
    assert atlas() == 0
    ((*step, n),) = steps(folder)
    assert step == ["1.1.0", "1.2.0"]
    first = blocks(folder)
    assert sum(name == "screen" for name, _ in first) == 6, "three releases, twice each"
    assert sum(name == "confirm 1.1.0 1.2.0" for name, _ in first) >= 2 * n, "another metric may need more"
    assert not [path for path in folder.glob("out/*/stacks/*") if path.is_dir()]

    wheels.append(served.wheel(folder, "stairs", "1.3.0", BODY.format(mb=60)))
    pages["stairs"] = served.page("stairs", wheels, times=False)
    shutil.rmtree(os.environ["UV_CACHE_DIR"])
    assert atlas("--json") == 0
    more = blocks(folder)[len(first) :]
    assert json.loads((folder / "out/atlas.json").read_text())["runs"] == len(more)
    assert blocks(folder)[: len(first)] == first
    assert [one for one in more if one[0] == "screen"] == [("screen", "1.3.0")] * 2
    clocks = {"confirm 1.1.0 1.2.0", "confirm 1.2.0 1.3.0"}  # which a busy machine makes suspects
    assert {name for name, _ in more} <= {"screen", *clocks}
    assert steps(folder) == [(*step, n)]
    versions = {line["version"] for line in tables.read(folder / "out" / tables.CELLS)}
    assert versions == {"1.0.0", "1.1.0", "1.2.0", "1.3.0"}
    (folder / "mine.txt").write_text("stairs==1.0.0\n")
    capfd.readouterr()
    assert main(["atlas", "compare", "mine.txt", "newest", "--atlas", "out"]) == 0
    assert "stairs 1.0.0 → 1.3.0" in capfd.readouterr().out
    (folder / "cases/stairs_import.py").write_text(CASE + "# more\n")
    atlas()
    assert "stairs_import: " in capfd.readouterr().err, "a changed case is refused"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "words", "message"),
    [(CASE, ["--library", "stair"], "did you mean 'stairs'"), ("print(1)\n", [], "dependencies")],
)
def test_bad_input_gets_one_line_and_writes_nothing(place, capfd, case, words, message):
    (place[0] / "cases/stairs_import.py").write_text(case)
    assert atlas(*words) == 2
    last = capfd.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("beyond-ram: ") and message in last and not (place[0] / "out").exists()
