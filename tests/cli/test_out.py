"""What is in `--out` from an earlier call stays after a call that cannot run."""

import pytest

from beyond_ram.cli import main
from beyond_ram.experiment.places import RESULTS_MARK
from beyond_ram.folders import mark
from tests.bisect import served

UNSOLVABLE = "# /// script\n# dependencies = ['stairs', 'absent']\n# ///\n"
BAD_METADATA = "# /// script\n# dependencies = ['stairs']\n"
BISECT = ["bisect", "case.py", "--package", "stairs", "--good", "1.0", "--bad"]
GATE = ["gate", "--baseline", "stairs==1.0", "--candidate"]
CALLS = {
    "no such release": ("", [*BISECT, "9.9"]),
    "no version": ("", [*BISECT, "new"]),
    "one release": ("", [*BISECT, "1.0"]),
    "bisect, metadata": (BAD_METADATA, [*BISECT, "1.1"]),
    "bisect, cannot be locked": (UNSOLVABLE, [*BISECT, "1.1"]),
    "bisect, no such metric": ("", [*BISECT, "1.1", "--metric", "mine"]),
    "bisect, no such stack": ("", [*BISECT, "1.1", "--stack", "mine"]),
    "why, metadata": (BAD_METADATA, ["why", "case.py"]),
    "why, no requirement": ("", ["why", "case.py", "--with", "1.0"]),
    "why, cannot be locked": (UNSOLVABLE, ["why", "case.py"]),
    "why, words": ("", ["why", "case.py", "--args", "'"]),
    "limit, metadata": (BAD_METADATA, ["limit", "case.py"]),
    "limit, cannot be locked": (UNSOLVABLE, ["limit", "case.py"]),
    "gate, no requirement": ("", [*GATE, "stairs 1", "--script", "case.py"]),
    "gate, no such release": ("# /// script\n# dependencies = ['stairs']\n# ///\n",
                              [*GATE, "stairs==9.9", "--script", "case.py"]),
    "gate, metadata": (BAD_METADATA, [*GATE, "stairs==1.1", "--script", "case.py"]),
    "fit, no size": ("", ["fit", "--memory", "1G", "--grow", "n=5..2", "--", "true", "{n}"]),
    "fit, other command": ("", ["fit", "--memory", "1G", "--", "false"]),
    "watch, no such program": ("", ["watch", "--", "./none"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The address of an index with two releases of a made-up package, and a cache for uv."""
    folder = tmp_path_factory.mktemp("index")
    wheels = [served.wheel(folder, "stairs", version, "") for version in ("1.0", "1.1")]
    with served.index({"stairs": served.page("stairs", wheels)}, folder) as address:
        yield address, folder / "cache"


@pytest.mark.parametrize("name", CALLS)
def test_call_that_cannot_run_leaves_earlier_results(name, index, tmp_path, monkeypatch, capfd):
    script, words = CALLS[name]
    address, cache = index
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    monkeypatch.setenv("UV_CACHE_DIR", str(cache))
    (tmp_path / "case.py").write_text(script)
    earlier = {"gate.json": "{}", "results/runs/one/run.json": "{}", "runs/n=5/run.json": "{}", "bisect.json": "{}"}
    for file, text in earlier.items():
        (tmp_path / "out" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / file).write_text(text)
    mark(tmp_path / "out")
    (tmp_path / "out/results" / RESULTS_MARK).touch()
    begin = words.index("--") if "--" in words else len(words)
    assert main([*words[:begin], "--out", "out", *words[begin:]]) != 0
    assert "Traceback" not in capfd.readouterr().err
    for file, text in earlier.items():
        assert (tmp_path / "out" / file).read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["case.py", "out"]
