"""A gate over scripts, with a made-up package from a local index."""

import json

import pytest

from beyond_ram.cli import main
from beyond_ram.experiment import ConfigError
from beyond_ram.gate import cells, sides
from beyond_ram.gate import runs as gate_runs
from beyond_ram.gate.wheels import requirement
from beyond_ram.measure import gate as policy
from beyond_ram.stacks import variants
from beyond_ram.stacks.differences import pins
from tests.bisect import served

BODY = "kept = b'x' * {mb} * 1_000_000\ndef answer(): return {answer!r}\n"
SCRIPT = "# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\nprint(stairs.answer())\n"


@pytest.mark.slow
def test_script_that_needs_more_memory_is_worse_and_the_same_command_goes_on(tmp_path, monkeypatch, capfd):
    releases = {"1.0": BODY.format(mb=20, answer="a"), "1.1": BODY.format(mb=90, answer="b")}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(policy, "LOOKS", (4,))  # few repeats show it; other metrics need many
    (tmp_path / "Case 1.py").write_text(SCRIPT)
    (tmp_path / "stairs").mkdir()  # a checkout beside the script, which is neither side
    (tmp_path / "stairs/__init__.py").write_text("def answer(): return 'mine'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with served.for_uv(monkeypatch, tmp_path, {"stairs": releases}):
        words = ["--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "Case*.py"]
        assert main(["gate", *words, "--budget", "0.01", "--out", "out"]) == 2
        first = (tmp_path / "out/blocks.jsonl").read_bytes()
        assert main(["gate", *words, "--budget", "5", "--out", "out"]) == 1
        blocks = (tmp_path / "out/blocks.jsonl").read_bytes()
        assert blocks.startswith(first)
        assert main(["gate", *words, "--budget", "5", "--out", "out"]) == 1, "all is decided"
        assert (tmp_path / "out/blocks.jsonl").read_bytes() == blocks
        capfd.readouterr()
        other = ["--baseline", "stairs==1.1", *words[2:]]
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
        assert main(["gate", *other, "--out", "out"]) == 2
        assert 'baseline was ["stairs==1.0"], and is ["stairs==1.1"]' in capfd.readouterr().err
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before
    report = json.loads((tmp_path / "out/gate.json").read_text())
    worse = {change["metric"] for change in report["changes"] if change["result"] == "worse"}
    assert {"end_kept_bytes", "peak_kept_bytes"} <= worse
    assert "the answer" in report["differs_beside"]["case-1"]


@pytest.mark.slow
def test_run_that_imports_a_copy_from_elsewhere_is_no_run(index, tmp_path):
    (tmp_path / "stairs.py").touch()
    (tmp_path / "case.py").write_text(f"# /// script\n# dependencies = ['stairs']\n# ///\nimport sys\n"
                                      f"sys.path.insert(0, {str(tmp_path)!r})\nimport stairs\n")  # fmt: skip
    words = ["--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "case.py", "--budget", "0.02"]
    assert main(["gate", *words]) == 2
    (note,) = json.loads((tmp_path / "results-gate/gate.json").read_text())["says_nothing"]
    assert str(tmp_path / "stairs.py") in note


@pytest.mark.slow
@pytest.mark.end_to_end  # tests/gate/test_schedule.py has the budget, tests/watch/test_limit.py the timeout
def test_candidate_that_hangs_ends_with_the_budget(tmp_path, monkeypatch):
    releases = {"1.0": "", "1.1": "import time\ntime.sleep(3600)\n"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gate_runs, "LEAST_S", 0.5)
    (tmp_path / "case.py").write_text("# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\n")
    with served.for_uv(monkeypatch, tmp_path, {"stairs": releases}):
        words = ["--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "case.py"]
        assert main(["gate", *words, "--budget", "0.02", "--out", "results"]) == 2
    report = json.loads((tmp_path / "results/gate.json").read_text())
    (failed,) = [change for change in report["changes"] if change["metric"] == "run_failed"]
    assert (failed["result"], failed["candidate"]) == ("undecided", 1)


@pytest.mark.slow
def test_scripts_are_chosen_by_their_requirements(tmp_path, monkeypatch):
    releases = {name: {"1.0": "", "1.1": ""} for name in ("stairs", "beside")}
    script, stack = tmp_path / "case.py", tmp_path / "mine.txt"
    script.write_text("import stairs, beside\n")
    stack.write_text("beside==1.0\nstairs==1.0\n")
    other = tmp_path / "other.py"
    other.write_text("# /// script\n# dependencies = ['beside']\n# ///\n")
    block = tmp_path / "block.py"
    block.write_text(SCRIPT)
    with served.for_uv(monkeypatch, tmp_path, releases):
        chosen = cells.of_scripts([script], ["stairs"], tmp_path / "out", stack)
        requirements = {"stairs": "stairs==1.1"}
        variants.exchange("case", requirements, tmp_path / "out/envs", tmp_path / "candidate.txt")
        several = cells.of_scripts([other, block], ["stairs"], tmp_path / "several")
        with pytest.raises(ConfigError, match="none of these scripts requires stairs"):
            cells.of_scripts([other], ["stairs"], tmp_path / "none")
    assert (several.bases, several.left_out) == (["block"], ("other.py",))
    assert chosen.bases == ["case"]
    assert pins((tmp_path / "candidate.txt").read_text()) == {"beside": "1.0", "stairs": "1.1"}


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Serve releases 1.0, 1.1 and 2.0 of three made-up packages."""
    (tmp_path / "index").mkdir()
    monkeypatch.chdir(tmp_path)
    releases = {name: {"1.0": "", "1.1": "", "2.0": ""} for name in ("stairs", "beside", "private")}
    with served.for_uv(monkeypatch, tmp_path / "index", releases):
        yield


def test_other_requirements_of_a_script_keep_address_marker_and_bounds(index, tmp_path):
    private = served.wheel(tmp_path, "private", "9.0", "")
    needs = ["stairs", "beside<2", "gone; sys_platform == 'win32'", f"private @ {private.as_uri()}"]
    script = tmp_path / "case.py"
    script.write_text(f"# /// script\n# dependencies = {json.dumps(needs)}\n# ///\n")
    chosen = cells.of_scripts([script], ["stairs"], tmp_path / "out")
    wanted = {side: [requirement(f"stairs=={version}", tmp_path)]
              for side, version in (("baseline", "1.0"), ("candidate", "1.1"))}  # fmt: skip
    for side in wanted:
        lock = sides.locked(chosen.bases[0], side, wanted, tmp_path / "out", tmp_path / "out/envs", exact=True).lock
        assert pins(lock.read_text()) == {"beside": "1.1", "stairs": wanted[side][0].line.partition("==")[2]}
        assert f"private @ {private.as_uri()}" in lock.read_text()


@pytest.mark.parametrize("way", ["override", "marker"])
def test_side_without_what_was_asked_for_is_refused(index, tmp_path, monkeypatch, capfd, way):
    (tmp_path / "case.py").write_text("# /// script\n# dependencies = ['stairs']\n# ///\n")
    if way == "override":
        (tmp_path / "override.txt").write_text("stairs==1.0\n")
        monkeypatch.setenv("UV_OVERRIDE", str(tmp_path / "override.txt"))
    candidate = "stairs==1.1" + ("; sys_platform == 'win32'" if way == "marker" else "")
    assert main(["gate", "--baseline", "stairs==1.0", "--candidate", candidate, "--script", "case.py"]) == 2
    assert "stairs==1.1" in capfd.readouterr().err.splitlines()[-1]
    if way == "override":
        ends = ["--package", "stairs", "--good", "1.0", "--bad", "1.1"]
        assert main(["bisect", "case.py", *ends]) == 2
