"""Steps of a version ladder and the next bisection, on hand-made runs."""

import pandas as pd
import pytest

from beyond_ram.analysis.findings import explaining
from beyond_ram.analysis.ladders import infeasible, ladders, next_versions

RELEASES = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"]
MB = 1e6


def runs(sizes: dict[str, list[float]], impossible: dict[str, str] | None = None) -> pd.DataFrame:
    lines = [
        {
            "outcome": "completed",
            "completed_work": True,
            "reason": "",
            "grown_anon_bytes": size * MB,
            "version": version,
        }
        for version, values in sizes.items()
        for size in values
    ]
    for version, why in (impossible or {}).items():
        lines.append(
            {
                "outcome": "not_applicable",
                "completed_work": False,
                "reason": why,
                "grown_anon_bytes": None,
                "version": version,
            }
        )
    table = pd.DataFrame({"experiment": "alone", "stack": "b+p-1", "corpus": "c", "rep": 1, **line} for line in lines)
    return table.assign(base="b")


def ladder_and_next(
    sizes: dict[str, list[float]], impossible: dict[str, str] | None = None, first: list[str] | None = None
) -> tuple[pd.DataFrame, list[str]]:
    table = runs(sizes, impossible)
    ladder = ladders("ladder", "p", ["grown_anon_bytes"], table, RELEASES, first)
    return ladder, next_versions(ladder, RELEASES, infeasible(table, "grown_anon_bytes"))


def test_a_step_is_bisected_until_its_sides_are_neighbours() -> None:
    truth = {version: [100.0, 101.0, 99.0] if version < "1.4" else [5.0, 5.1, 4.9] for version in RELEASES}
    measured = {"1.0", "1.6"}
    for _ in range(4):
        ladder, more = ladder_and_next({version: truth[version] for version in RELEASES if version in measured})
        measured |= set(more)
    assert more == []
    steps = ladder[ladder["significant"]]
    assert steps[["from_version", "to_version"]].to_numpy().tolist() == [["1.3", "1.4"]]
    assert steps["neighbours"].all()
    assert steps["low"].item() < 0.05 < steps["high"].item()
    assert len(measured) < len(RELEASES)


def test_step_survives_the_bisection_that_it_started() -> None:
    """REVIEW.md 3.10: 414 to 423 and 519 MB, n = 2, "worse" alone; after bisecting "nothing differs"."""
    measured = {"1.0": [414.0, 423.0], "1.6": [519.0, 519.5]}
    ladder, more = ladder_and_next(measured, first=["1.0", "1.6"])
    assert ladder["significant"].tolist() == [True]
    low, high = ladder["low"].item(), ladder["high"].item()
    truth = {"1.3": [455.0, 505.0], "1.1": [416.0, 424.0], "1.2": [440.0, 500.0], "1.4": [460.0, 520.0]}
    truth["1.5"] = [470.0, 519.0]
    for _ in range(4):
        measured |= {version: truth[version] for version in more}
        ladder, more = ladder_and_next(measured, first=["1.0", "1.6"])
        if not more:
            break
        (step,) = ladder[ladder["significant"]].to_dict("records")
        assert (step["whole"], step["from_version"], step["to_version"]) == (True, "1.0", "1.6")
        assert (step["low"], step["high"]) == (low, high), "decided before bisecting, by its own runs"
    assert ladder["significant"].any()
    assert len(measured) > 3, "the search goes on in the largest part"
    (finding,) = explaining._version_steps({"ladders": ladder})
    assert "1.0" in finding.title
    assert "1.6" in finding.title


def test_bisection_narrows_a_step_at_the_same_level() -> None:
    measured = {"1.0": [100.0, 101.0, 99.0], "1.6": [5.0, 5.1, 4.9], "1.3": [100.5, 99.5, 101.0]}
    ladder, _ = ladder_and_next(measured, first=["1.0", "1.6"])
    assert ladder[ladder["significant"]][["from_version", "to_version"]].to_numpy().tolist() == [["1.3", "1.6"]]
    assert not ladder["whole"].any()


def test_several_metrics_are_one_family() -> None:
    table = runs({"1.0": [100.0, 101.0], "1.6": [50.0, 51.0]}).assign(peak_grown_anon_bytes=lambda t: t["rep"] * 2e8)
    both = ladders("l", "p", ["grown_anon_bytes", "peak_grown_anon_bytes"], table, RELEASES)
    assert both["metric"].tolist() == ["grown_anon_bytes", "peak_grown_anon_bytes"]
    assert both["significant"].tolist() == [True, False]


def test_noise_is_no_step() -> None:
    ladder, more = ladder_and_next({"1.0": [100, 140, 80], "1.6": [130, 90, 120]})
    assert not ladder["significant"].any()
    assert more == []


def test_relative_noise_of_small_values_hides_no_step() -> None:
    ladder, more = ladder_and_next({"1.0": [119, 120], "1.6": [1.4, 3.2]})
    assert ladder["significant"].all()
    assert more == ["1.3"]
    assert ladder["high"].item() < 0.1
    within, _ = ladder_and_next({"1.0": [7, 7.1], "1.6": [1.0, 1.1]})
    assert not within["significant"].any()


def test_infeasible_version_without_a_step_has_its_own_line() -> None:
    ladder, more = ladder_and_next({"1.6": [5.0, 5.1]}, {"1.0": "needs another q"})
    assert more == []
    assert ladder[["from_version", "infeasible"]].to_numpy().tolist() == [["1.0", "1.0: needs another q"]]
    assert not ladder["significant"].any()
    assert ladder["to_version"].isna().all()


def test_two_steps_are_both_found() -> None:
    truth = dict(zip(RELEASES, ([s, s * 1.01] for s in (50.0, 200.0, 200.0, 200.0, 200.0, 20.0, 20.0)), strict=True))
    measured = {"1.0", "1.3", "1.6"}
    for _ in range(4):
        ladder, more = ladder_and_next({version: truth[version] for version in RELEASES if version in measured})
        measured |= set(more)
    steps = ladder[ladder["significant"]]
    assert steps[["from_version", "to_version"]].to_numpy().tolist() == [["1.0", "1.1"], ["1.4", "1.5"]]


def test_infeasible_version_is_skipped_and_named() -> None:
    ladder, more = ladder_and_next({"1.0": [100, 101], "1.2": [5, 5.1]}, {"1.1": "needs q<2"})
    assert more == []
    assert ladder["neighbours"].all()
    assert ladder["infeasible"].item() == "1.1: needs q<2"


def test_one_run_per_side_confirms_no_step_but_bisects_a_large_one() -> None:
    small, none = ladder_and_next({"1.0": [100], "1.6": [88]})
    large, more = ladder_and_next({"1.0": [100], "1.6": [50]})
    assert not small["significant"].any()
    assert not large["significant"].any()
    assert large["low"].isna().all()
    assert (none, more) == ([], ["1.3"])


def test_step_names_other_packages_that_moved() -> None:
    table = runs({"1.0": [100.0, 101.0], "1.1": [50.0, 51.0], "1.2": [1.0, 1.1], "1.3": [1.0, 1.1]})
    old, older = "hub 2.4 to 1.3, q 5 to 4", "hub 2.4 to 1.3, q 5 to 3"
    table["moved"] = table["version"].map({"1.0": older, "1.1": old})
    steps = ladders("ladder", "p", ["grown_anon_bytes"], table, RELEASES)
    assert steps["moved"].tolist() == ["q 3 to 4", "hub 1.3 to 2.4, q 4 to 5", ""]
    steps_of = explaining._version_steps({"ladders": steps})
    assert [step.facts["moved"] for step in steps_of] == ["q 3 to 4", "hub 1.3 to 2.4, q 4 to 5"]
    assert not any(step.facts["moved"] for step in explaining._version_steps({"ladders": steps.assign(moved=None)}))


@pytest.mark.parametrize(("before", "after", "matters"), [(33.0, 16.0, True), (9.0, 8.0, False), (100.0, 97.0, False)])
def test_requests_have_a_threshold_of_their_own(before: float, after: float, matters: bool) -> None:
    lines = [
        {
            "experiment": "x",
            "stack": "b+p-1",
            "rep": 1,
            "base": "b",
            "completed_work": True,
            "outcome": "completed",
            "reason": "",
        }
        | {"version": version, "requests_metadata": value}
        for version, value in (("1.0", before), ("1.1", after))
        for _ in range(2)
    ]
    table = pd.DataFrame(lines)
    assert ladders("l", "p", ["requests_metadata"], table, ["1.0", "1.1"])["significant"].tolist() == [matters]


def test_version_without_any_value_is_named() -> None:
    table = runs({"1.0": [100, 101], "1.1": [5, 5], "1.2": [5, 5]})
    killed = table["version"] == "1.1"
    table.loc[killed, ["outcome", "completed_work", "grown_anon_bytes"]] = ["killed_at_limit", False, None]
    (step,) = ladders("ladder", "p", ["grown_anon_bytes"], table, RELEASES[:3]).to_dict("records")
    assert (step["from_version"], step["to_version"], step["neighbours"]) == ("1.0", "1.2", True)
    assert step["infeasible"] == "1.1: killed at limit (2 of 2)"
    nothing = ladders("ladder", "p", ["grown_anon_bytes"], table.assign(grown_anon_bytes=None), RELEASES[:3])
    assert nothing["infeasible"].tolist()[0] == "1.0: no run has grown_anon_bytes"
    assert len(nothing) == 3
