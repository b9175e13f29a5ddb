"""Table `history`: the value under each lock, and confirmed steps with the packages that moved."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beyond_ram import tables
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.history import history, in_words, locks_in_words, locks_of
from beyond_ram.analysis.stack_differences import stack_differences

from .test_comparisons import runs

OLD, MID, NEW = "mine@aaaa0000", "mine@bbbb0000", "mine"
PAIRS = [(OLD, MID), (MID, NEW), (OLD, NEW), ("mine", "other")]
LOCKS = {
    OLD: "datasets==1\npyarrow==20\n",
    MID: "datasets==2\npyarrow==21\n",
    NEW: "datasets==2\npyarrow==22\n",
    "mine.in": "datasets\n",
}
DAY = 86400.0


def lock(stack: str, day: int = 0, **line: Any) -> list[dict[str, Any]]:
    """Three repeats of a cell under a lock, on a day."""
    repeats = runs(stack=stack, **line)
    return [repeat | {"started_at": day * DAY + repeat["started_at"]} for repeat in repeats]


def tables_of(*cells: list[dict[str, Any]], locks: dict[str, str] = LOCKS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `history` and `stack_differences`."""
    table = pd.DataFrame([line for cell in cells for line in cell])
    differ = stack_differences(PAIRS, locks)
    return history(table, comparisons(table, PAIRS), differ, PAIRS), differ


def lines_of(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    return table[table["metric"] == metric]


def test_locks_are_in_order() -> None:
    assert locks_of(PAIRS) == {"mine": [OLD, MID, NEW]}
    assert locks_of([("june", "current")]) == {}


def test_only_confirmed_steps_name_the_packages_that_moved() -> None:
    table, _ = tables_of(lock(OLD, 1, grown=100), lock(MID, 2, grown=200), lock(NEW, 3, grown=200))
    growth = lines_of(table, "grown_anon_bytes")
    assert growth[["stack", "place", "before", "result"]].to_numpy().tolist() == [
        [OLD, 0, "", ""],
        [MID, 1, OLD, "worse"],
        [NEW, 2, MID, "same"],
    ]
    assert growth["packages"].tolist() == ["", "datasets 1 to 2, pyarrow 20 to 21", ""]
    assert growth["value"].tolist() == pytest.approx([100e6, 200e6, 200e6], rel=0.01)
    assert growth["ratio"].iloc[1] == pytest.approx(2, rel=0.01)
    assert growth["low"].iloc[0] < growth["value"].iloc[0] < growth["high"].iloc[0]
    assert set(lines_of(table, "tokens_per_cpu_s")["packages"]) == {""}
    first = in_words(table)[0]
    (step,) = first["steps"]
    assert step["why"] == "one of 2 packages, or several together: datasets 1 to 2, pyarrow 20 to 21"
    assert step["sides"] == f"{OLD} to {MID}"
    assert step["change"].startswith("2 times (1.9")
    assert [point["kind"] for point in first["drawn"]["points"]] == ["", "worse", ""]
    assert [point["x"] for point in first["drawn"]["points"]] == [0, 0.5, 1]


def test_opposite_data_gives_the_opposite_result() -> None:
    table, _ = tables_of(lock(OLD, grown=200), lock(MID, grown=200), lock(NEW, grown=100))
    growth = lines_of(table, "grown_anon_bytes")
    assert growth["result"].tolist() == ["", "same", "better"]
    assert growth["packages"].tolist() == ["", "", "pyarrow 21 to 22"]
    assert in_words(table)[0]["steps"][0]["why"] == "pyarrow 21 to 22"


def test_one_run_per_lock_gives_no_step() -> None:
    table, _ = tables_of(lock(OLD, grown=100, n=1), lock(NEW, grown=900, n=1))
    assert set(table["result"]) == {"", "undecided"}
    assert set(table["packages"]) == {""}
    assert [line["steps"] for line in in_words(table)] == [[], []]


def test_step_over_a_lock_without_runs_names_all_moved_packages() -> None:
    table, _ = tables_of(
        *(lock(stack, grown=100, num_files=1) for stack in (OLD, MID, NEW)),
        lock(OLD, grown=100, num_files=2),
        lock(NEW, grown=300, num_files=2),
    )
    growth = lines_of(table, "grown_anon_bytes")
    (step,) = growth[growth["result"] == "worse"].to_dict("records")
    assert (step["num_files"], step["before"], step["stack"]) == (2, OLD, NEW)
    assert step["packages"] == "datasets 1 to 2, pyarrow 20 to 22"


def test_another_machine_is_named_and_unknown_locks_name_no_package() -> None:
    machine = {"machine_memory_bytes": 8e9, "cpu_count": 2}
    table, differ = tables_of(
        lock(MID, grown=100, **machine), lock(NEW, grown=200, **machine | {"cpu_count": 8}), locks={NEW: LOCKS[NEW]}
    )
    (step,) = in_words(table)[0]["steps"]
    assert step["why"] == "no version that is known moved; other machines: cpu_count 2 against 8"
    assert locks_in_words(table, differ)[0]["locks"][1]["moved"] == "no version, or not known"


def test_locks_have_their_date_and_moved_packages() -> None:
    table, differ = tables_of(lock(OLD, 1), lock(MID, 2), lock(NEW, 3))
    (line,) = locks_in_words(table, differ)
    assert line["stack"] == "mine"
    assert [tuple(one.values()) for one in line["locks"]] == [
        (OLD, "1970-01-02", ""),
        (MID, "1970-01-03", "datasets 1 to 2, pyarrow 20 to 21"),
        (NEW, "1970-01-04", "pyarrow 21 to 22"),
    ]


def test_empty_history_can_be_read_again(tmp_path: Path) -> None:
    table, differ = tables_of(lock(NEW))
    tables.write(table, tmp_path / "history.csv", tmp_path / "history.parquet")
    read = tables.read(tmp_path / "history.parquet")
    assert in_words(read) == locks_in_words(read, differ) == []
    whole, _ = tables_of(lock(OLD, grown=100), lock(NEW, grown=200))
    tables.write(whole, tmp_path / "history.csv", tmp_path / "history.parquet")
    assert in_words(tables.read(tmp_path / "history.parquet"))[0]["steps"]
