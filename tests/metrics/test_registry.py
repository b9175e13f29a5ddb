"""The registry knows every column of every table, each once."""

import csv
import re
from collections import Counter

import pytest

from beyond_ram.experiment import AXES
from beyond_ram.metrics import COLUMNS, IDENTIFYING, METRICS, Metric, column, derive
from beyond_ram.workflow.chapters import source

from ..conftest import ROOT

KEPT = sorted((ROOT / "tests/data/tables").glob("*.csv"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_every_column_is_an_axis_a_metric_or_identifying(path):
    with path.open() as file:
        names = next(csv.reader(file))
    unknown = [
        name
        for name in names
        if not (
            name in AXES
            or column(path.stem, name)
            or IDENTIFYING.get(name)
            or IDENTIFYING.get(f"{name.partition('_')[0]}_")
        )
    ]
    assert not unknown, f"table {path.stem}: add them to beyond_ram/metrics"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_tables_have_all_registered_columns(path):
    with path.open() as file:
        names = set(next(csv.reader(file)))
    registered = {name for entry in COLUMNS if path.stem in entry.tables for name in entry.columns}
    assert registered <= names, f"add them to {path.relative_to(ROOT)}, empty: no recorded run has them"


def test_a_column_has_one_meaning_in_a_table_and_is_no_axis():
    named = Counter((table, name) for entry in COLUMNS for table in entry.tables for name in entry.columns)
    assert not [twice for twice, times in named.items() if times > 1]
    assert not {name for _, name in named} & {*AXES, *IDENTIFYING}


def test_a_time_or_a_rate_means_one_thing_in_all_tables():
    """Tables with a column of one name can then be read side by side."""
    named = Counter(name for entry in COLUMNS if entry.unit == "s" or "/" in entry.unit for name in entry.columns)
    assert not [twice for twice, times in named.items() if times > 1]


def test_time_to_first_batch_starts_with_opening_the_data():
    record = {"cell": {"order": "shuffled"}, "work": {}, "peak": {}}
    streams = [{"event": "resolved", "duration_s": 1.0}, {"event": "first_batch", "duration_s": 1.5}]
    loads = [{"event": "baseline", "opened_s": 2.0}, {"event": "first_batch", "first_batch_s": 0.25}]
    loads.append({"event": "epoch", "first_batch_s": 0.25})
    assert derive(record, streams, "streaming")["time_to_first_batch_s"] == 1.5
    assert derive(record, loads, "loaders")["time_to_first_batch_s"] == 2.25


def test_rows_per_second_are_of_the_last_finished_epoch():
    record = {"cell": {"order": "shuffled"}, "work": {}, "peak": {}}
    epochs = [{"event": "epoch", "rows_delivered": 8, "duration_s": took, "finished": True} for took in (4, 2)]
    broken = {"event": "epoch", "rows_delivered": 1, "duration_s": 9, "finished": False}
    assert derive(record, [*epochs, broken], "streaming")["rows_per_s"] == 4
    loaded = [{"event": "epoch", "rows_delivered": 8, "duration_s": 9}]
    loaded.append({"event": "work", "rows_delivered": 8, "duration_s": 2})
    assert derive(record, loaded, "loaders")["rows_per_s"] == 4


def test_work_of_the_endpoint_is_known_if_it_was_metered():
    work = {"endpoint": {"cpu_s": 3, "busy_s": 4, "injected_s": 0.1, "duration_s": 10.0}}
    assert derive({"cell": {}, "work": work, "peak": {}}, [], "streaming")["endpoint_busy_s"] == 4
    assert derive({"cell": {}, "work": {}, "peak": {}}, [], "streaming")["endpoint_busy_s"] is None


def test_columns_name_existing_tables_and_are_documented():
    for entry in COLUMNS:
        assert entry.tables
        made_from = {table: ROOT / source("table", table) for table in entry.tables}
        made_from |= {"ladders": ROOT / "beyond_ram/measure/ladders.py"} if "ladders" in made_from else {}
        assert all(path.exists() for path in made_from.values()), entry.key
        assert all((entry.label, entry.unit, entry.derivation, entry.trust)), entry.key
        assert "|" not in f"{entry.label}{entry.unit}{entry.derivation}{entry.trust}", "docs show it in a table cell"


def test_interval_ends_have_the_metric_of_their_middle():
    assert column("growth", "anon_slope_mb_per_gb_low") is column("growth", "anon_slope_mb_per_gb")
    assert column("loaders", "rows_per_s_high") is column("streaming", "rows_per_s_max") is METRICS["rows_per_s"]
    assert column("runs", "colour_low") is None


def test_all_metrics_of_an_empty_run_are_none():
    nothing = {"cell": {"order": "shuffled"}, "work": {}, "peak": {}}
    assert {entry.key: entry.derive(nothing, []) for entry in COLUMNS if isinstance(entry, Metric)} == dict.fromkeys(
        entry.key for entry in COLUMNS if isinstance(entry, Metric)
    )


def test_account_of_rows_is_of_one_epoch_with_the_worst_faults():
    record = {"work": {"rows_delivered": 9, "rows_missing": 5}, "peak": {}}
    epochs = [{"event": "epoch", "pid": 1, "rows_delivered": 3, "rows_missing": gone} for gone in (2, 1)]
    values = derive(record, epochs, "streaming")
    assert (values["rows_delivered"], values["rows_missing"]) == (3, 2)


@pytest.mark.parametrize("unit", ["s", "bytes"])
def test_a_column_has_its_unit_in_its_name(unit):
    named = re.compile(rf"(^|_){unit}(_|$)")
    assert not [entry.key for entry in COLUMNS if entry.unit == unit and not named.search(entry.key)]
