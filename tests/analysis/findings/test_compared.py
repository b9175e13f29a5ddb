"""What is found in table `comparisons`: nothing that the data does not carry."""

from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.findings import Finding, compared
from beyond_ram.analysis.stack_differences import stack_differences
from beyond_ram.metrics import METRICS
from beyond_ram.metrics.base import ANY

from ..by_hand import MB

PAIRS = [("old", "new")]


def runs(stack: str, sizes_mb: list[float], **cell: Any) -> list[dict[str, Any]]:
    known = {"experiment": "e", "stack": stack, "workload": "tokenize", "cache": "cold", "remedy": "none"} | cell
    done = {"outcome": "completed", "completed_work": True}
    return [
        known | done | {"rep": rep, "grown_anon_bytes": size * MB, "peak_grown_anon_bytes": 2 * size * MB}
        for rep, size in enumerate(sizes_mb, 1)
    ]


def found(*lines: list[dict[str, Any]], locks: dict[str, str] | None = None) -> dict[str, Finding]:
    tables = {"comparisons": comparisons(pd.DataFrame([line for group in lines for line in group]), PAIRS)}
    if locks:
        tables["stack_differences"] = stack_differences(PAIRS, locks)
    return {finding.title: finding for source in compared.SOURCES for finding in source(tables)}


OLD = runs("old", [100, 101, 100.5])


def test_a_difference_is_told_once_with_all_metrics_that_differ_and_how_often() -> None:
    elsewhere = [runs(stack, [50, 50.5, 50.2], num_files=9) for stack in ("old", "new")]
    told = found([line | {"num_files": 4} for line in OLD], runs("new", [300, 302, 301], num_files=4), *elsewhere)
    ((title, finding),) = told.items()
    assert title.startswith("new against old: ")
    assert "2.99 times" in title or "3.00 times" in title
    assert "n = 3" in finding.text
    assert "The first is shown in 1 of 2 cells" in finding.text
    assert finding.strength > 2


NOISE = [100, 220, 150]


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        pytest.param(
            [100, 101, 102],
            "Choose new, not old, under the conditions that are named",
            id="nothing points to the other",
        ),
        pytest.param(
            [85, 94, 82],
            "by their own interval, as one in twenty does by chance: worse in tokens per",
            id="slower",
        ),
    ],
)
def test_what_points_to_the_other_side_is_weighed_though_it_is_not_shown(rates: list[float], told: str) -> None:
    sizes = {"old": [300, 302, 301], "new": [100, 101, 100.5]}
    speed = {"old": [100, 104, 101], "new": rates}
    lines = [
        [line | {"tokens_per_cpu_s": rate} for line, rate in zip(runs(stack, sizes[stack]), speed[stack], strict=True)]
        for stack in sizes
    ]
    for group in lines:
        group += [
            line | {"num_files": 9, "tokens_per_cpu_s": None}
            for line in runs(group[0]["stack"], NOISE[:: 1 if group is lines[0] else -1])
        ]
    (finding,) = [one for title, one in found(*lines).items() if "times" in title]
    assert told in finding.action
    assert ("metrics compared." in finding.action) == told.startswith("Choose")
    assert ("Compared: growth of anonymous" in finding.text) == told.startswith("Choose")


@pytest.mark.parametrize("faster", [0, 1])
def test_what_is_not_set_is_called_the_default(faster: int) -> None:
    title = "1 PyTorch thread against default PyTorch threads: rows per CPU-second "
    lines = [
        [
            line | {"rows_per_cpu_s": rate * (1 + (threads == faster))}
            for line, rate in zip(OLD, (50, 51, 50), strict=True)
        ]
        for threads in (0, 1)
    ]
    known = [
        [line | {"workload": "load", "torch_threads": threads} for line in group] for threads, group in enumerate(lines)
    ]
    (finding,) = [one for told, one in found(*known).items() if told.startswith(title)]
    wanted, other = ("1 PyTorch thread", "default PyTorch threads")[:: 1 if faster else -1]
    assert f"Choose {wanted}, not {other}" in finding.action


def test_a_loader_that_lends_its_batches_is_not_advised_without_a_word_of_it() -> None:
    loaders = pd.DataFrame({"loader": ["ring", "copies"], "lends": ["yes", "no"]})
    assert "ring lends its batches" in compared._of_loaders({"loaders": loaders}, "copies", "ring")
    assert compared._of_loaders({"loaders": loaders.assign(lends="no")}, "copies", "ring") == ""
    assert compared._of_loaders({"loaders": loaders.assign(lends="yes")}, "copies", "ring") == ""


@pytest.mark.parametrize(("most", "said"), [((1, 3), " pool starts no process for a worker."), ((3, 3), "")])
def test_a_loader_whose_workers_are_threads_is_told_from_one_with_processes(most: tuple[int, int], said: str) -> None:
    lines = pd.DataFrame({"loader": ["pool", "forks"], "workers": 2, "peak_processes": most, "completed_work": True})
    assert compared._of_loaders({"runs": lines}, "forks", "pool") == said
    assert compared._of_loaders({"runs": lines.assign(workers=0)}, "forks", "pool") == ""


def test_where_several_are_better_none_is_said_to_be_the_choice_alone() -> None:
    sizes = {"transformers": [300, 302, 301], "fast": [100, 101, 100.5], "slow": [150, 151, 150.5]}
    lines = [
        [line | {"subject": name, "workload": "soak"} for line in runs("s", values)] for name, values in sizes.items()
    ]
    told = {title.split(" ")[0]: one.action for title, one in found(*lines).items() if "times" in title}
    assert told["fast"].endswith(" So is slow; these were not held against each other.")
    assert told["slow"].endswith(" So is fast; these were not held against each other.")


def test_the_opposite_says_the_opposite() -> None:
    (title,) = [
        title for title in found(runs("new", [100, 101, 100.5]), runs("old", [300, 302, 301])) if "times" in title
    ]
    assert "0.33 times" in title


@pytest.mark.parametrize(
    "new",
    [
        pytest.param([100.2, 100.9, 100.6], id="absent"),
        pytest.param([300], id="one run"),
        pytest.param([30, 300, 120], id="wild noise"),
    ],
)
def test_what_the_data_does_not_carry_is_not_told(new: list[float]) -> None:
    old = OLD[: len(new)]
    (title,) = found(old, runs("new", new))
    assert title == (
        "new: nothing is shown to be worse than in old" if len(new) > 1 else "new against old: too few repeats to tell"
    )


def test_nothing_worse_says_what_it_is_worth() -> None:
    (finding,) = found(OLD, runs("new", [100.2, 100.9, 100.6])).values()
    assert finding.text == "Of 2 comparisons: 2 same; n = 3."
    assert finding.strength == 0
    (finding,) = found(OLD[:1], runs("new", [300])).values()
    assert "2 not enough data; n = 1" in finding.text


def test_what_is_worse_by_its_own_interval_is_named_where_nothing_is_shown() -> None:
    sizes = {"old": [100, 104, 101], "new": [118, 116, 120]}
    noise = [
        [line | {"num_files": 9} for line in runs(stack, NOISE[:: 1 if stack == "old" else -1])] for stack in sizes
    ]
    told = found(*(runs(stack, values) for stack, values in sizes.items()), *noise)
    text = told["new: nothing is shown to be worse than in old"].text
    assert "Not shown, but worse by its own interval, as one in twenty is by chance: growth of" in text
    calm = found(OLD, runs("new", [100.2, 100.9, 100.6]))["new: nothing is shown to be worse than in old"].text
    assert "own interval" not in calm


@pytest.mark.parametrize(
    ("points", "said"), [({"better": ["rows"], "worse": ["tokens"]}, ""), ({"better": ["growth"], "worse": []}, "in")]
)
def test_what_is_shown_in_one_cell_and_not_in_another_is_told(points: dict[str, list[str]], said: str) -> None:
    growth = compared._label({"metric": "grown_anon_bytes"})
    against = {side: [growth if one == "growth" else one for one in labels] for side, labels in points.items()}
    shown = pd.DataFrame([{"metric": "grown_anon_bytes"}])
    assert compared._in_other_cells(against, shown, "better").strip() == said.replace("in", "in other cells")


@pytest.mark.parametrize(
    ("metric", "figure"),
    [("requests_metadata", "requests_by_workers"), ("requests_data", ""), ("rows_per_s", ""), ("grown_anon_bytes", "")],
)
def test_a_figure_is_named_that_draws_the_metric(metric: str, figure: str) -> None:
    assert compared._figure("stack", {"workload": "stream", "metric": metric}) == figure


def test_of_two_that_could_have_been_seen_the_median_is_between() -> None:
    said = compared.detectable(pd.Series([2.0, 3.0]), "these")
    ends = "in the median a ratio of 2.50 could have been seen, in the worst a ratio of 3.00."
    assert said == f" Of these, 2 compare a ratio: {ends}"
    assert "in the worst no ratio under 100." in compared.detectable(pd.Series([2.0, 3.0, float("inf")]), "these")


def test_what_could_have_been_seen_is_no_number_that_no_metric_has() -> None:
    (finding,) = found(runs("old", [30, 300]), runs("new", [200, 20])).values()
    assert "Of those not shown, 2 compare a ratio: in none could one under 100 have been seen." in finding.text


def test_a_label_keeps_its_capitals() -> None:
    speed = {"old": [100.0, 101, 100.5], "new": [300.0, 302, 301]}
    lines = [
        [line | {"tokens_per_cpu_s": rate} for line, rate in zip(runs(stack, [1, 1, 1]), rates, strict=True)]
        for stack, rates in speed.items()
    ]
    finding = found(*lines)["new against old: tokens per CPU-second (with imports) 3.00 times"]
    assert "Tokens per CPU-second (with imports): 301 against 100.5" in finding.text


@pytest.mark.parametrize(("cold", "told"), [(2, "rows per CPU-second"), (1, "rows per CPU-second of later epochs")])
def test_the_first_epoch_is_told_before_those_from_the_page_cache(cold: float, told: str) -> None:
    """Where it is shown; else what is shown is told."""
    rates = {
        stack: {"rows_per_cpu_s": 1e5 * first, "rows_per_cpu_s_warm": 1e5 * warm}
        for stack, first, warm in (("old", 1, 1), ("new", cold, 10))
    }
    lines = [
        {
            "experiment": "e",
            "stack": stack,
            "workload": "load",
            "outcome": "completed",
            "completed_work": True,
            "rep": rep,
        }
        | {metric: rate * (1 + 0.001 * rep) for metric, rate in rates[stack].items()}
        for stack in rates
        for rep in (1, 2, 3)
    ]
    (title,) = [title for title in found(lines) if "times" in title]
    assert title.startswith(f"new against old: {told} ")


def test_a_failed_repeat_is_counted() -> None:
    failed = runs("new", [300, 302, 301, 303])
    failed[0] |= {"outcome": "failed", "completed_work": False}
    told = found(runs("old", [100, 101, 100.5, 100.2]), failed)
    assert "of their runs failed" in next(iter(told.values())).text


def test_no_comparisons_are_no_findings() -> None:
    assert found([]) == {}


def test_every_workload_that_is_decided_has_a_figure_for_stacks() -> None:
    decided = {workload for metric in METRICS.values() for workload in metric.decided} - {ANY}
    assert decided <= set(compared._FIGURES)


LOCKS = {"old": "a==1\nb==1\nc==1\nd==1\ne==1\n", "new": "a==1\nb==2\nc==2\nd==2\ne==2\n", "new.in": "e\n"}


@pytest.mark.parametrize("new", [[300, 302, 301], [100.2, 100.9, 100.6]], ids=["worse", "nothing worse"])
def test_what_else_two_stacks_differ_in_is_said(new: list[float]) -> None:
    (finding,) = found(OLD, runs("new", new), locks=LOCKS).values()
    assert finding.text.endswith(" What the locks differ in: e 1 to 2, b 1 to 2, c 1 to 2 and 1 more.")
    (alike,) = found(OLD, runs("new", new), locks=LOCKS | {"new": LOCKS["old"]}).values()
    assert "locks" not in alike.text


def test_two_values_of_another_axis_have_no_locks_to_differ_in() -> None:
    told = found(OLD, runs("old", [30, 30.1, 30.2], remedy="one-thread"), locks=LOCKS)
    assert told
    assert not [finding for finding in told.values() if "locks" in finding.text]


def test_what_is_the_same_for_want_of_size_is_counted() -> None:
    old, new = (
        [
            line | {"tokens_per_cpu_s": None, "grown_anon_bytes": size}
            for line, size in zip(runs(stack, NOISE), sizes, strict=True)
        ]
        for stack, sizes in (("old", [2e6, 3e6, 2e6]), ("new", [1e6, 2e6, 3e6]))
    )
    (finding,) = [one for title, one in found(old, new).items() if "nothing is shown" in title]
    assert "Of the same, 1 are too small on both sides" in finding.text
