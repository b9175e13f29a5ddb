"""The types of run.json fit what is written, and refuse anything else."""

import copy
import json
import math
import sys
from typing import get_args, get_origin, get_type_hints, is_typeddict

import pytest

from beyond_ram.cli import main
from beyond_ram.records.run_json import RunRecord, fault


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    words = ["--max-rss", "900M", "--input", __file__, "--", sys.executable, "-c", "import time; time.sleep(0.1)"]
    assert main(["watch", "--out", str(out), *words]) in (0, 3)  # 3: whether the ceiling was kept is not known
    return json.loads((out / "run.json").read_text())


def unknown(value, kind, where=""):
    """The keys that a type does not have."""
    if is_typeddict(kind) and isinstance(value, dict):
        types = get_type_hints(kind)
        for name, one in value.items():
            yield from unknown(one, types[name], f"{where}.{name}") if name in types else [f"{where}.{name}"]
    items = {list: value, dict: getattr(value, "values", list)()} if isinstance(value, list | dict) else {}
    for inner in get_args(kind):
        for one in items.get(get_origin(kind), [value]):
            yield from unknown(one, inner, where)


def test_record_has_the_keys_and_types_of_its_definition(record):
    assert fault(record) == ""
    assert list(unknown(record, RunRecord)) == []
    assert list(unknown(record | {"other": 1}, RunRecord)) == [".other"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda one: one.pop("outcome"), "outcome"),
        (lambda one: one["provenance"].pop("versions"), "provenance.versions"),
        (lambda one: one["peak"].update(rss_bytes=1.5), "peak.rss_bytes"),
        (lambda one: one["peak"].update(rss_bytes=True), "peak.rss_bytes"),
        (lambda one: one["peak"].update(kept=[]), "peak.kept"),
        (lambda one: one.update(phases=[{"phase": 1}]), "phases.*.phase"),
        (lambda one: one.update(command="x"), "command"),
        (lambda one: one.update(duration_s=math.nan), "duration_s"),
        (lambda one: one.update(duration_s=10**400), "duration_s"),
        (lambda one: one.update(completed_work=1), "completed_work"),
    ],
)
def test_fault_names_its_place(record, change, where):
    damaged = copy.deepcopy(record)
    change(damaged)
    assert fault(damaged).startswith(f"'{where}' is ")


def test_unknown_keys_and_nulls_of_readings_are_no_fault(record):
    assert fault(record | {"later": 1, "reason": None, "duration_s": 3}) == ""
    assert fault(record | {"peak": {}, "sampler": {}}) == ""


def test_run_of_a_program_that_reports_no_numbers_can_be_read(tmp_path, capfd):
    program = "from beyond_ram.phases import emit; emit('work', rows='many', tokens=[1], bytes_in=None, rows_twice=2)"
    assert main(["watch", "--out", str(tmp_path / "run"), "--", sys.executable, "-c", program]) == 0
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record["work"] == {"rows_twice": 2}
    notes = [note["why"] for note in record["missing"] if note["what"] == "work"]
    assert all(f"'{name}' is no number" in notes[0] for name in ("rows", "tokens", "bytes_in"))
    capfd.readouterr()
    assert main(["show", str(tmp_path / "run")]) == 0
    assert "'rows' is no number" in capfd.readouterr().out
