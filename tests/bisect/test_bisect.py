"""`beyond-ram bisect` on a script and releases of a made-up package from a local index."""

import json
import shutil

import pytest

from beyond_ram.cli import main
from tests.bisect import served
from tests.conftest import ROOT

BODY = "kept = bytearray(b'x' * {mb} * 1_000_000)\ndef answer(): return {answer!r}\n"
SCRIPT = "# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\nprint(stairs.answer())\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Create a folder with the script, and an index with seven releases: one is yanked and one a prerelease."""
    sizes = {"1.0": 10, "1.1": 10, "1.2": 10, "1.3rc1": 60, "1.3": 60, "1.4": 60, "1.5": 10}
    releases = {one: BODY.format(mb=size, answer="b" if one >= "1.5" else "a") for one, size in sizes.items()}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text(SCRIPT)
    with served.for_uv(monkeypatch, tmp_path, {"stairs": releases}, ["1.3"]):
        yield tmp_path


def bisect(place, *more, out="out"):
    status = main(["bisect", "case.py", "--package", "stairs", *more, "--out", out])
    return status, json.loads((place / out / "bisect.json").read_text())


@pytest.mark.slow
def test_steps_up_and_down_are_found(place, capfd):
    status, result = bisect(place, "--good", "1.2", "--bad", "1.5", "--metric", "end", "answer")
    assert status == 0
    steps = [(step["from_version"], step["to_version"], step["metric"]) for step in result["steps"]]
    assert steps == [("1.2", "1.3", "end_kept_bytes"), ("1.4", "1.5", "end_kept_bytes"), ("1.4", "1.5", "answer")]
    first = result["steps"][0]
    assert first["to_yanked"]
    assert first["from_value"] < first["to_value"] - 45e6 and first["low"] <= first["ratio"] <= first["high"]
    assert "stairs 1.2 → 1.3" in capfd.readouterr().out
    assert (place / "out/bisect.md").stat().st_size
    assert "127.0.0.1" not in "".join(path.read_text() for path in (place / "out/locks").iterdir())


@pytest.mark.slow
@pytest.mark.end_to_end
def test_step_of_the_outcome_and_no_step_are_found(place):
    ends = ("--good", "1.1", "--bad", "1.4")
    status, result = bisect(place, *ends, "--metric", "outcome", "--memory-limit", "45M")
    assert status == 0
    (step,) = result["steps"]
    assert (step["from_version"], step["to_version"]) == ("1.2", "1.3")
    assert (step["from_value"], step["to_value"]) == ("completed", "killed_at_limit")
    status, result = bisect(place, "--good", "1.0", "--bad", "1.1", "--metric", "end", "outcome", out="none")
    assert status == 0 and not result["steps"] and result["runs"] == 2 * result["same"]["n"] == 8


@pytest.mark.slow
@pytest.mark.end_to_end
def test_number_that_the_script_reports_has_a_step(place):
    shutil.copy(ROOT / "beyond_ram/phases.py", place)
    number = "import phases\nphases.number('kept', len(stairs.kept), 'items', better='lower', exact=True)\n"
    (place / "case.py").write_text(SCRIPT + number)
    named = "kept [items, lower, exact]"
    for out, more in (("all", []), ("one", ["--metric", named])):
        status, result = bisect(place, "--good", "1.4", "--bad", "1.5", *more, out=out)
        (step,) = (step for step in result["steps"] if step["metric"] == named)
        assert (status, step["from_value"], step["to_value"]) == (0, 60e6, 10e6)


@pytest.mark.slow
def test_script_without_metadata_runs_with_a_stacks_versions(tmp_path, monkeypatch):
    releases = {one: BODY.format(mb=mb, answer="a") for one, mb in (("1.0", 10), ("1.1", 60))}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("import stairs, beside\n")
    (tmp_path / "mine.txt").write_text("beside==1.0\nstairs==1.1\n")
    with served.for_uv(monkeypatch, tmp_path, {"stairs": releases, "beside": releases}):
        status, result = bisect(tmp_path, "--good", "1.0", "--bad", "1.1", "--metric", "end", "--stack", "mine.txt")
    assert status == 0
    assert [(step["from_version"], step["to_version"]) for step in result["steps"]] == [("1.0", "1.1")]
    locks = [path.read_text() for path in (tmp_path / "out/locks").iterdir()]
    assert locks and all("beside==1.0" in lock for lock in locks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import absent_module", "--with absent_module"),
        ("import stairs, sys; sys.exit(f'ends {stairs.answer()} {len(stairs.kept) > 2e7}')", "ends a"),
    ],
)
def test_script_that_shows_nothing_of_the_package_has_no_answer(place, capfd, line, message):
    (place / "case.py").write_text(SCRIPT.partition("import")[0] + line + "\n")
    status, result = bisect(place, "--good", "1.2", "--bad", "1.3", "--metric", "outcome")
    assert (status, result["result"]) == (2, "cannot say")
    assert message in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("starts_a_process", [False, True])
def test_search_ends_after_two_runs_that_neither_import_the_package_nor_start_a_process(place, capfd, starts_a_process):
    script = "import subprocess, sys\nif {}: subprocess.run([sys.executable, '-c', 'import stairs'])\n"
    (place / "case.py").write_text(SCRIPT.partition("import")[0] + script.format(starts_a_process))
    first = "1.2" if starts_a_process else "1.0"
    status, result = bisect(place, "--good", first, "--bad", "1.3", "--metric", "peak")
    if starts_a_process:
        assert (status, [step["to_version"] for step in result["steps"]]) == (0, ["1.3"])
        return
    record = json.loads(next((place / "out/runs").rglob("run.json")).read_text())
    if not record["peak"]["hwm_bytes"]["exits_by_kernel"]:
        pytest.skip("the kernel does not tell of exits here")
    assert (status, result["runs"]) == (2, 2) and "never imported stairs" in capfd.readouterr().out


@pytest.mark.slow
def test_same_command_goes_on_and_another_is_refused(place, capfd):
    words = ["--good", "1.2", "--bad", "1.3", "--metric", "end"]
    status, first = bisect(place, *words, "--budget", "0.02")
    assert (status, first["result"]) == (2, "cannot say")
    lines = (place / "out/blocks.jsonl").read_bytes()
    status, result = bisect(place, *words)
    assert status == 0 and (place / "out/blocks.jsonl").read_bytes().startswith(lines)
    assert [(step["from_version"], step["to_version"]) for step in result["steps"]] == [("1.2", "1.3")]
    assert bisect(place, *words)[1] | {"used_s": 0} == result | {"used_s": 0}
    before = {path: path.stat().st_mtime_ns for path in (place / "out").rglob("*")}
    (place / "case.py").write_text(SCRIPT + "# more\n")
    assert main(["bisect", "case.py", "--package", "stairs", *words, "--out", "out"]) == 2
    assert "another question" in capfd.readouterr().err.splitlines()[-1]
    assert {path: path.stat().st_mtime_ns for path in (place / "out").rglob("*")} == before


@pytest.mark.slow
def test_script_that_changes_meanwhile_ends_the_search(place, capfd):
    (place / "case.py").write_text(SCRIPT + "open(__file__, 'a').write('# more')\n")
    assert main(["bisect", "case.py", "--package", "stairs", "--good", "1.0", "--bad", "1.5", "--out", "steps"]) == 2
    assert "case.py has changed" in capfd.readouterr().err.splitlines()[-1]
    assert not (place / "steps/bisect.json").exists()
