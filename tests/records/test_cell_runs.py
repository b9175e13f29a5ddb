"""A run's folder is read whole, or refused in one line that names the file and says what to do."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from beyond_ram.experiment import Cell
from beyond_ram.files import DamagedError
from beyond_ram.measure import cells
from beyond_ram.memory_request import request_of
from beyond_ram.records import cell_runs, tables
from beyond_ram.records.collected import Runs, collect
from beyond_ram.watch import watch, write_record
from beyond_ram.workflow import job_memory

LOCK = b"datasets==5.2.0\n"
LOCK_SHA256 = hashlib.sha256(LOCK).hexdigest()
CELL = Cell("growth", (("stack", "current"), ("mode", "basic"), ("num_files", 2)), 1)


def run_once(runs, cell=CELL, seconds=0.15, work=None):
    """The folder of a real run of a real command."""
    folder = runs / cell.path
    record = watch([sys.executable, "-c", f"import time; time.sleep({seconds})"], folder)
    record |= {"cell": cell.parameters(), "workload": "tokenize", "work": work or {}}
    record["provenance"] |= {"lock_sha256": LOCK_SHA256}
    write_record(record, folder)
    return folder


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_at_a_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))


def text(content):
    return lambda path: path.write_text(content) and None


def edited(**what):
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | what)) and None


def more(content):
    return lambda path: path.write_text(path.read_text() + content) and None


DAMAGE = {
    "record cut": ("run.json", cut, "no JSON, or cut"),
    "record empty": ("run.json", text(""), "empty"),
    "record a list": ("run.json", text("[]"), "no JSON object, but a list"),
    "record deep": ("run.json", text("[" * 200_000), "no JSON"),
    "record not UTF-8": ("run.json", lambda path: path.write_bytes(b'{"outcome": "\xff"}'), "not UTF-8"),
    "record missing": ("run.json", Path.unlink, "missing"),
    "peak a list": ("run.json", edited(peak=[]), "'peak' is no object"),
    "a peak in words": ("run.json", edited(peak={"rss_bytes": "<b>9</b>"}), "'peak.rss_bytes' is no whole number"),
    "another's record": (
        "run.json",
        edited(cell=CELL.replace(mode="direct").parameters()),
        "another cell, by its mode",
    ),
    "ids a list": ("run.json", edited(work={"ids_sha256": []}), "'work.ids_sha256' is no text"),
    "events cut": ("events.jsonl", cut, "cut in its last line"),
    "events cut at a line": ("events.jsonl", cut_at_a_line, "'end' is missing"),
    "events empty": ("events.jsonl", text(""), "empty"),
    "an event a list": ("events.jsonl", more("[]\n"), "is no event"),
    "an event without a time": ("events.jsonl", more('{"event": "work", "t_s": "1"}\n'), "has no time"),
    "samples cut": ("samples.csv", cut, "cut"),
    "samples cut at a line": ("samples.csv", cut_at_a_line, "run.json says"),
    "samples empty": ("samples.csv", text(""), "columns of samples"),
    "samples of another": ("samples.csv", more("1,,1,1,1,1,1,1,,,1,1,1,1,1,\n"), "run.json says"),
    "samples no CSV": (
        "samples.csv",
        lambda path: path.write_text(path.read_text().replace(",,", ',"a"b,', 1)),
        "no CSV",
    ),
    "foreign samples": ("samples.csv", text("a,b\n1,2\n"), "columns of samples"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = run_once(tmp_path_factory.mktemp("runs"))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path, sound):
    folder = tmp_path / "runs" / CELL.path
    folder.mkdir(parents=True)
    for name, content in sound.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_refused_in_one_line_that_names_the_file(folder, damage):
    name, spoil, message = DAMAGE[damage]
    spoil(folder / name)
    with pytest.raises(DamagedError) as refused:
        tables.read_runs([folder / "run.json"])
        cell_runs.samples(folder)
    if damage == "record missing":  # a requested run without a record is only counted
        collect([folder / "run.json"], *(folder.parent / name for name in ("runs", "samples")))
        runs = Runs([folder.parent / "runs"])
        assert (len(runs), list(runs.outcomes()["outcome"])) == (0, [cell_runs.NO_RECORD])
        return
    with pytest.raises(DamagedError) as collected:
        collect([folder / "run.json"], *(folder.parent / name for name in ("runs", "samples")))
    assert str(collected.value) == str(refused.value)
    assert str(refused.value).startswith(f"{folder / name}: ")
    assert message in str(refused.value)
    assert str(refused.value).endswith("; delete the folder, and run it again")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", ["", "[]", '{"peak": []}', "{"])
def test_damaged_record_gives_no_memory_request(folder, content):
    runs, cell = folder.parents[4], Cell(CELL.experiment, CELL.axes, rep=2)  # any repeat of the cell will do
    advised_mb = request_of(cell_runs.record(folder)).request_bytes / 1e6
    assert job_memory.request_mb(runs, cell, 4000) == int(advised_mb + job_memory.DRIVER_MB)
    failed = json.loads((folder / "run.json").read_text()) | {"outcome": "failed", "exit_status": 1}
    (folder / "run.json").write_text(json.dumps(failed))
    assert job_memory.request_mb(runs, cell, 4000) == 4000, "a lower bound is below the estimate"
    (folder / "run.json").write_text(content)
    assert job_memory.request_mb(runs, cell, 4000) == 4000


def test_run_counts_if_it_is_whole_of_this_code_and_not_older(folder):
    """As a further repeat, or a run of a version ladder."""
    runs, record = folder.parents[4], folder / "run.json"
    began = json.loads(record.read_text())["started_at"]
    assert not cells.read(runs, CELL, "code", began), "without a digest of its code"
    edited(provenance=json.loads(record.read_text())["provenance"] | {"code_sha256": "code"})(record)
    assert cells.read(runs, CELL, "code", began)
    assert not cells.read(runs, CELL, "other", began)
    assert not cells.read(runs, CELL, "code", began + 1)
    cut(folder / "samples.csv")
    assert not cells.read(runs, CELL, "code", began)
    (folder / "samples.csv").unlink()
    assert not cells.read(runs, CELL, "code", began)


def test_a_line_separator_in_an_event_ends_no_line(folder):
    events = folder / "events.jsonl"
    events.write_text('{"t_s": 0.0, "event": "note", "text": "a\u2028b\u0085c"}\n' + events.read_text())
    assert cell_runs.events(folder)[0]["text"] == "a\u2028b\u0085c"


def test_a_phase_may_hold_a_comma_and_quotes(folder):
    samples = folder / "samples.csv"
    samples.write_text(samples.read_text().replace(",,", ',"read, ""all""",', 1))
    assert cell_runs.samples(folder)["phase"][0] == 'read, "all"'


@pytest.mark.slow
def test_events_of_another_run_are_refused(folder):
    record, events = folder / "run.json", (folder / "events.jsonl").read_bytes()
    content = json.loads(record.read_text())
    content["provenance"]["events_sha256"] = hashlib.sha256(events).hexdigest()
    record.write_text(json.dumps(content))
    assert cell_runs.run(folder)
    (folder / "events.jsonl").write_bytes(events.replace(b'"t_s": 0.0', b'"t_s": 0.1', 1))
    with pytest.raises(DamagedError, match=r"events\.jsonl: edited, or not this run's"):
        cell_runs.run(folder)
