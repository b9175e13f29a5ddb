"""A gate over scripts, with a made-up package from a local index."""

import json

import pytest

from beyond_ram.cli import main
from beyond_ram.experiment import ConfigError
from beyond_ram.gate import cells, schedule
from beyond_ram.stacks import variants
from beyond_ram.stacks.differences import pins
from tests.bisect import served

BODY = "kept = b'x' * {mb} * 1_000_000\ndef answer(): return {answer!r}\n"
SCRIPT = "# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\nprint(stairs.answer())\n"


@pytest.mark.slow
def test_script_that_needs_more_memory_is_worse(tmp_path, monkeypatch):
    sizes = {"1.0": (20, "a"), "1.1": (90, "b")}
    wheels = [
        served.wheel(tmp_path, "stairs", version, BODY.format(mb=mb, answer=answer))
        for version, (mb, answer) in sizes.items()
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(schedule, "AT", (2, 2))  # two repeats show it; other metrics need many
    (tmp_path / "Case 1.py").write_text(SCRIPT)
    with served.index({"stairs": served.page("stairs", wheels)}, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        words = ["--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "Case*.py"]
        assert main(["gate", *words, "--budget", "1", "--out", "found"]) == 1
    report = json.loads((tmp_path / "found/gate.json").read_text())
    worse = {change["metric"] for change in report["changes"] if change["verdict"] == "worse"}
    assert {"end_anon_bytes", "peak_anon_upper_bound_bytes"} <= worse
    assert "the answer" in report["differs_beside"]["case-1"]


@pytest.mark.slow
def test_candidate_that_hangs_ends_with_the_budget(tmp_path, monkeypatch):
    wheels = [served.wheel(tmp_path, "stairs", version, f"import time\ntime.sleep({seconds})\n")
              for version, seconds in (("1.0", 0), ("1.1", 3600))]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(schedule, "LEAST_S", 0.5)
    (tmp_path / "case.py").write_text("# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\n")
    with served.index({"stairs": served.page("stairs", wheels)}, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        words = ["--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "case.py"]
        assert main(["gate", *words, "--budget", "0.05", "--out", "results"]) == 2
    report = json.loads((tmp_path / "results/gate.json").read_text())
    (failed,) = [change for change in report["changes"] if change["metric"] == "run_failed"]
    assert (failed["verdict"], failed["candidate"]) == ("undecided", 1)


@pytest.mark.slow
def test_scripts_are_chosen_by_their_requirements(tmp_path, monkeypatch):
    wheels = {name: [served.wheel(tmp_path, name, version, "") for version in ("1.0", "1.1")]
              for name in ("stairs", "beside")}  # fmt: skip
    script, stack = tmp_path / "case.py", tmp_path / "mine.txt"
    script.write_text("import stairs, beside\n")
    stack.write_text("beside==1.0\nstairs==1.0\n")
    other = tmp_path / "other.py"
    other.write_text("# /// script\n# dependencies = ['beside']\n# ///\n")
    block = tmp_path / "block.py"
    block.write_text(SCRIPT)
    with served.index({name: served.page(name, files) for name, files in wheels.items()}, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        chosen = cells.of_scripts([script], ["stairs"], tmp_path / "out", stack)
        requirements = {"stairs": "stairs==1.1"}
        variants.exchange("case", requirements, tmp_path / "out/envs", tmp_path / "candidate.txt")
        several = cells.of_scripts([other, block], ["stairs"], tmp_path / "several")
        with pytest.raises(ConfigError, match="none of these scripts requires stairs"):
            cells.of_scripts([other], ["stairs"], tmp_path / "none")
    assert (several.bases, several.left_out) == (["block"], ("other.py",))
    assert chosen.bases == ["case"]
    assert pins((tmp_path / "candidate.txt").read_text()) == {"beside": "1.0", "stairs": "1.1"}


def test_bad_scripts_get_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = ["gate", "--baseline", "a==1", "--candidate", "a==2", "--script", "none.py"]
    assert main(words) == 2 and capfd.readouterr().err == "beyond-ram: there is no file none.py\n"
    assert main([*words, "--cells", "read"]) == 2 and not list(tmp_path.iterdir())
    without = [*words[:-2], "--stack", "current"]
    assert main(without) == 2 and "--stack is for scripts" in capfd.readouterr().err
