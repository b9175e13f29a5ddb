"""Table `ladders`, from whole searches over hand-made runs."""

from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.rule import searched
from beyond_ram.decisions.rule import LOOKS
from beyond_ram.measure.ladders import MOST, steps_of
from beyond_ram.measure.plan import COMPLETED, NOT_INSTALLABLE, Run
from beyond_ram.measure.search import Search

RELEASES = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"]
METRIC = "grown_anon_bytes"
NOISE = (0.0, 0.02, -0.02, 0.05, -0.04)


def ladder(sizes, cannot=None, sides=RELEASES, killed=(), metric=METRIC, **columns):
    """The table of a search over versions that take `sizes`, in MB or in the metric's unit."""
    search = Search("alone", sides, *searched([metric]), 1, (), sides[:: len(sides) - 1], MOST)
    runs, lines = list[Run](), list[dict[str, Any]]()
    while blocks := search.next(runs):
        for member, name in [(member, block.name) for block in blocks for member in block.members]:
            version, number = member.side, sum(run.member == member for run in runs)
            line = {"experiment": "alone", "stack": f"b+p-{version}", "corpus": "c", "base": "b"}
            line |= {"rep": number + 1, "version": version, "outcome": "completed", "reason": ""}
            if version in (cannot or {}):
                line |= {"outcome": "not_applicable", "reason": (cannot or {})[version]}
            elif version in killed:
                line |= {"outcome": "killed_at_limit"}
            completed = line["outcome"] == "completed"
            scale = 1e6 if metric == METRIC else 1
            value = scale * (sizes[version] + NOISE[number % len(NOISE)] * (scale > 1)) if completed else float("nan")
            lines.append(line | {"completed_work": completed, metric: value}
                         | {name: of.get(version) for name, of in columns.items()})  # fmt: skip
            outcome = {"completed": COMPLETED, "not_applicable": NOT_INSTALLABLE}.get(line["outcome"], line["outcome"])
            runs.append(Run(member, number, name, outcome, line["reason"], values={metric: value} if completed else {}))
    return steps_of("ladder", "p", search, pd.DataFrame(lines), RELEASES)


def confirmed(table):
    return table[table["result"].isin(["better", "worse"])]


def steps(table):
    return confirmed(table)[["from_version", "to_version"]].to_numpy().tolist()


def at(*sizes):
    return dict(zip(RELEASES, sizes, strict=True))


def test_steps_are_found_between_neighbours():
    table = ladder(at(50, 200, 200, 200, 200, 20, 20))
    assert steps(table) == [["1.0", "1.1"], ["1.4", "1.5"]]
    assert table["neighbours"].all()
    assert not table["whole"].any()
    line = confirmed(table).iloc[1]
    assert line["low"] <= line["ratio"] <= line["high"] < 0.2
    assert line["n"] == LOOKS[1]
    assert line["from_value_min"] <= line["from_value"] <= line["from_value_max"]
    assert line["runs"] == line["finished"] > 2 * line["n"], "with the runs of the screen"


def test_noise_is_no_step_and_named_versions_alone_are_compared():
    table = ladder(at(*[100] * 7))
    assert table[["result", "whole"]].to_numpy().tolist() == [["undecided", False]] * 6 + [["same", True]]
    table = ladder(at(100, 100, 100, 50, 50, 50, 50), sides=["1.0", "1.6"])
    assert steps(table) == [["1.0", "1.6"]]
    assert not table["neighbours"].any()


def test_versions_that_cannot_be_measured_are_skipped_and_named():
    table = ladder(at(100, 0, 100, 0, 5, 5, 0), {"1.1": "needs q<2", "1.6": "no wheel"}, killed=["1.3"])
    assert steps(table) == [["1.2", "1.4"]]
    (step,) = confirmed(table).to_dict("records")
    assert step["neighbours"]
    assert step["infeasible"].startswith("1.3: killed at limit")
    by_first = table.set_index("from_version")
    assert by_first.loc["1.0", "infeasible"] == "1.1: needs q<2"
    assert by_first.loc["1.6", "infeasible"] == "1.6: no wheel"
    assert pd.isna(by_first.loc["1.6", "to_version"])
    nothing = ladder(at(*[0] * 7), killed=RELEASES)
    assert len(nothing) == len(RELEASES)
    assert confirmed(nothing).empty


def test_step_names_other_packages_that_moved():
    moved = {"1.0": "hub 2.4 to 1.3, q 5 to 3", "1.1": "hub 2.4 to 1.3, q 5 to 4"}
    table = ladder(at(100, 50, 1, 1, 1, 1, 1), moved=moved)
    assert table["moved"].tolist()[:3] == ["q 3 to 4", "hub 1.3 to 2.4, q 4 to 5", ""]


@pytest.mark.parametrize(("before", "after", "matters"), [(33.0, 16.0, True), (100.0, 99.0, False)])
def test_requests_have_a_threshold_of_their_own(before, after, matters):
    table = ladder(at(*[before] * 3, *[after] * 4), metric="requests_metadata")
    assert steps(table) == ([["1.2", "1.3"]] if matters else [])
    exact = confirmed(table)
    assert (exact["low"] == exact["high"]).all()
