"""Table `pareto`."""

import math

import pandas as pd
import pytest

from beyond_ram.analysis.loaders import loaders
from beyond_ram.analysis.pareto import pareto, unranked

from .by_hand import Run, loader, record


def test_only_unbeaten_loaders_are_choices() -> None:
    sound = [loader("fast", 9, 900), loader("lean", 1, 100), loader("between", 5, 500), loader("beaten", 4, 600)]
    table = pd.DataFrame([*sound, loader("wrong", 99, 1, "3 missing")])
    reasons = pareto(table, []).set_index("loader")["chosen_for"].to_dict()
    assert reasons == {
        "fast": "most rows per CPU-second",
        "between": "no other is both faster and leaner",
        "lean": "least memory",
    }


def test_loader_without_rivals_is_no_choice() -> None:
    alone = loader("alone", 9, 900) | {"workers": 4}
    assert not len(pareto(pd.DataFrame([alone]), []))
    # A loader that lost rows is no rival, nor is the same loader in another stack.
    rivals = [alone | {"loader": "wrong", "account": "3 missing"}, alone | {"stack": "other", "rows_per_cpu_s": 1}]
    assert not len(pareto(pd.DataFrame([alone, *rivals]), []))
    pair = [loader("fast", 9, 900), loader("lean", 1, 100)]
    assert set(pareto(pd.DataFrame([alone, *rivals, *pair]), [])["loader"]) == {"fast", "lean"}


def test_loader_with_another_option_is_another_choice() -> None:
    options = {"advice": "none", "option": "none"}
    pair = [loader("scan", 9, 900) | options, loader("scan", 5, 100) | options | {"option": "ahead-0"}]
    choices = pareto(pd.DataFrame(pair), [])
    assert choices.set_index("option")["chosen_for"].to_dict() == {
        "none": "most rows per CPU-second",
        "ahead-0": "least memory",
    }


def test_each_order_has_a_front_of_its_own() -> None:
    shuffled = [loader("fast", 9, 900), loader("lean", 1, 100)]
    in_order = [loader("lean", 2, 50, order="sequential"), loader("beaten", 1, 60, order="sequential")]
    table = pd.DataFrame([*shuffled, *in_order])
    choices = pareto(table, [])
    assert choices[["loader", "order", "of_loaders"]].to_numpy().tolist() == [
        ["fast", "shuffled", 2],
        ["lean", "shuffled", 2],
        ["lean", "sequential", 2],
    ]
    assert choices["chosen_for"].tolist()[-1] == "most rows per CPU-second and least memory"


def test_without_a_sound_loader_there_is_no_choice() -> None:
    assert pareto(pd.DataFrame([loader("wrong", 9, 900, "3 missing")]), []).empty
    assert pareto(loaders([]), []).empty


def test_warm_epochs_rank_loaders_if_one_lacks_a_first_epoch_rate() -> None:
    cold = [loader("fast", 9, 900, rows_per_cpu_s_warm=1), loader("lean", 1, 100, rows_per_cpu_s_warm=9)]
    short = loader("short", math.nan, 50, rows_per_cpu_s_warm=100)
    choices = pareto(pd.DataFrame(cold), []).set_index("loader")
    assert choices["chosen_for"].to_dict() == {"fast": "most rows per CPU-second", "lean": "least memory"}
    assert set(choices["ranked_by"]) == {"first epoch"}
    warm = pareto(pd.DataFrame([*cold, short]), [])
    assert list(warm["loader"]) == ["short"], "the best loader stays in if one epoch is too short for a rate"
    assert list(warm["ranked_by"]) == ["warm epochs"]
    failed = [loader("failed", math.nan, 50, rows_per_cpu_s_warm=math.nan)]
    assert set(pareto(pd.DataFrame(cold + failed), [])["without_rate"]) == {1}, "counted, not ranked"


@pytest.mark.parametrize(("result", "faster"), [("better", 1), ("undecided", 0)])
def test_pair_in_table_comparisons_is_not_decided_again(result: str, faster: int) -> None:
    cells = {"slow": [10.0, 10.1, 10.2], "fast": [100.0, 101, 102]}
    records = [delivered(name, rate, rep) for name, values in cells.items() for rep, rate in enumerate(values, start=1)]
    table = loaders(records)
    line = table[table["loader"] == "fast"].iloc[0].to_dict()
    comparison = {"axis": "loader", "before": "slow", "after": "fast", "result": result}
    # Integers are floats there, because other workloads lack the axis.
    compared = pd.DataFrame([line | comparison | {"metric": "rows_per_cpu_s"}]).astype({"workers": float})
    choices = pareto(table, records, compared).set_index("loader")
    assert choices.loc["fast", "faster_than"] == faster


def test_reclaimable_memory_is_not_ranked() -> None:
    mapped = loader("mapped", 9, 100, end_pss_bytes=5000)
    choices = pareto(pd.DataFrame([mapped, loader("copied", 5, 500, end_pss_bytes=600)]), [])
    assert choices["loader"].tolist() == ["mapped"]
    assert choices["end_pss_bytes"].tolist() == [5000], "shown, not ranked"


@pytest.mark.parametrize(
    ("rates", "faster"), [([100.0, 101, 102], 1), ([9.0, 100, 1000], 0), ([100.0], 0), ([10.0, 11, 10.5], 0)]
)
def test_faster_than_counts_only_confirmed_differences(rates: list[float], faster: int) -> None:
    """Far apart, wild noise, one run, equal."""
    cells = {"fast": rates, "slow": [10.0, 10.1, 10.2][: len(rates)]}
    records = [delivered(name, rate, rep) for name, values in cells.items() for rep, rate in enumerate(values, start=1)]
    choices = pareto(loaders(records), records)
    assert choices.loc[choices["loader"].eq("fast"), "faster_than"].tolist() in ([faster], [])


def delivered(name: str, rate: float, rep: int) -> Run:
    """A run that delivers a thousand rows in an epoch."""
    cell = {"experiment": "e", "stack": "s", "loader": name, "order": "shuffled", "workers": 0, "rep": rep}
    rows = {"rows_expected": 1000, "rows_delivered": 1000, "rows_twice": 0, "rows_missing": 0, "rows_wrong": 0}
    took = {"cpu_s": 1000 / rate, "duration_s": 1000 / rate, "startup_cpu_s": 0.0}
    sizes = {"pss_bytes": 200e6, "pss_anon_bytes": 100e6 + (name == "slow") * 1e5, "pss_shmem_bytes": 0}
    run_record, _ = record_of(cell)
    work = {"event": "work", "loader_kind": "ours", "shuffle": "rows", "tree": sizes}
    return run_record, [{"event": "epoch", "epoch": 0, "pid": 1, **rows, **took}, work | rows | took]


def record_of(cell: dict[str, object]) -> Run:
    return record() | {"cell": cell, "workload": "load", "work": {}}, []


def test_cells_without_a_choice_are_listed() -> None:
    one_sound = [loader("right", 9, 900) | {"workers": 4}, loader("wrong", 8, 800, "3 missing") | {"workers": 4}]
    not_run = loader("pinned", 9, 900) | {"workers": 2, "outcome": "not_applicable"}
    table = pd.DataFrame([loader("fast", 9, 900), loader("lean", 1, 100), *one_sound, not_run])
    ((cell, why),) = unranked(table, pareto(table, []))
    assert (cell["workers"], why) == (4, "1 of 2 loaders delivered every row once, 1 of them with a rate")
    ((cell, _),) = unranked(pd.DataFrame(one_sound), pareto(pd.DataFrame(one_sound), []))
    assert cell["workers"] == 4
