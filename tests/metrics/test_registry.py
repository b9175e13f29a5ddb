"""The registry knows every column of every table, each once."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from beyond_ram.experiment import AXES
from beyond_ram.metrics import COLUMNS, IDENTIFYING, METRICS, Metric, column, derive, identifies
from beyond_ram.outputs import TABLES

ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted((ROOT / "tests/data/tables").glob("*.csv"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_every_column_is_an_axis_or_measured_or_identifies(path: Path) -> None:
    with path.open() as file:
        names = next(csv.reader(file))
    unknown = [name for name in names if not (name in AXES or column(path.stem, name) or identifies(name))]
    assert not unknown, f"table {path.stem}: add them to beyond_ram/metrics"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_table_has_every_column_that_is_said_to_be_in_it(path: Path) -> None:
    with path.open() as file:
        names = set(next(csv.reader(file)))
    said = {name for found in COLUMNS if path.stem in found.tables for name in found.columns}
    assert said <= names


def test_a_column_has_one_meaning_in_a_table_and_is_no_axis() -> None:
    named = Counter((table, name) for found in COLUMNS for table in found.tables for name in found.columns)
    assert not [twice for twice, times in named.items() if times > 1]
    assert not {name for _, name in named} & {*AXES, *IDENTIFYING}


def test_columns_are_of_tables_that_there_are_and_say_all_about_themselves() -> None:
    for found in COLUMNS:
        assert found.tables
        assert all((ROOT / TABLES / f"{table}.py").exists() for table in found.tables), found.key
        assert all((found.label, found.unit, found.derivation, found.trust)), found.key
        assert "|" not in f"{found.label}{found.unit}{found.derivation}{found.trust}", "it is a cell of a table in docs"


def test_the_ends_of_an_interval_mean_what_its_middle_means() -> None:
    assert column("growth", "anon_slope_mb_per_gb_low") is column("growth", "anon_slope_mb_per_gb")
    assert column("loaders", "rows_per_s_high") is not METRICS["rows_per_s"]
    assert column("streaming", "rows_per_s_high") is METRICS["rows_per_s"]
    assert column("runs", "colour_low") is None


def test_metrics_are_read_off_a_run_that_has_nothing() -> None:
    nothing = {"cell": {"order": "shuffled"}, "work": {}, "peak": {}}
    assert {found.key: found.derive(nothing, []) for found in COLUMNS if isinstance(found, Metric)} == dict.fromkeys(
        found.key for found in COLUMNS if isinstance(found, Metric)
    )


def test_the_account_of_rows_is_an_epochs_with_the_most_that_went_wrong_in_any() -> None:
    record = {"work": {"rows_delivered": 9, "rows_missing": 5}, "peak": {}}
    epochs = [{"event": "epoch", "pid": 1, "rows_delivered": 3, "rows_missing": gone} for gone in (2, 1)]
    found = derive(record, epochs, "streaming")
    assert (found["rows_delivered"], found["rows_missing"]) == (3, 2)
    ranks = derive(record, [epochs[0], epochs[1] | {"pid": 2}], "ranks")
    assert (ranks["rows_delivered"], ranks["rows_missing"]) == (9, 5), "each rank has a part"


def test_runs_kept_from_before_keep_their_share_of_the_read_ceiling() -> None:
    record = {"cell": {"order": "shuffled"}, "work": {}, "peak": {}}
    work = {"event": "work", "rows_delivered": 100, "cpu_s": 1.0}
    for name in ("read_ceiling", "limit"):
        ceiling = {"event": name, "kind": "random", "rows": 200, "cpu_s": 0.5}
        assert derive(record, [work, ceiling], "loaders")["share_of_limit"] == 0.25


@pytest.mark.parametrize("unit", ["s", "bytes"])
def test_a_column_has_its_unit_in_its_name(unit: str) -> None:
    named = re.compile(rf"(^|_){unit}(_|$)")
    assert not [found.key for found in COLUMNS if found.unit == unit and not named.search(found.key)]
