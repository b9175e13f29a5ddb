"""The text of a search's result."""

import math
from dataclasses import replace
from types import SimpleNamespace

from beyond_ram.bisect.result import SearchResult
from beyond_ram.cli.script_options import question_of
from beyond_ram.decisions.rule import MetricRule
from beyond_ram.measure.campaign import Campaign
from beyond_ram.measure.plan import Member, Run
from beyond_ram.measure.screen import ANSWER, OUTCOME, Interval, Step
from beyond_ram.measure.search import Search
from beyond_ram.stacks.inline import Inline
from tests.test_mask_secrets import PLANTED

RELEASES = SimpleNamespace(
    package="p", versions=["1", "2"], releases=[], skipped=[],
    release=lambda version: SimpleNamespace(date="2026-01-01", yanked=False),
)  # fmt: skip


def result(folder, runs, **more):
    """The result of a search over two releases, whose runs are these."""
    campaign = Campaign(folder, 1, runs=runs)
    ladder = SimpleNamespace(releases=RELEASES, budget_s=60, campaign=campaign, locks={},
                                  never_imported=False, **more)  # fmt: skip
    metrics = {"end_kept_bytes": MetricRule(), "peak_kept_bytes": MetricRule()}
    search = Search("mem.py", ["1", "2"], metrics, frozenset(), 1, (OUTCOME,))
    search.next(runs)
    return SearchResult(search, ladder, tuple(metrics))


def runs_of(**values):
    """Four runs of both releases: a value of each."""
    return [Run(Member("mem.py", side), n, "ends 1 2", "completed", started_at=n, ended_at=n + 1,
                values={name: both[int(side) - 1] for name, both in values.items()})
            for n in (1, 2, 3, 4) for side in "12"]  # fmt: skip


def test_no_secret_of_the_script_or_its_arguments_is_written(tmp_path):
    script = tmp_path / "mem.py"
    script.write_text(f"import sys\nlogin(token='{PLANTED}')\nrows = 5\n")
    made = result(
        tmp_path, runs_of(end_kept_bytes=(1e8, 2e8), peak_kept_bytes=(1e8, 1e8)), script=script, out=tmp_path,
        words=["--token", PLANTED, "--rows", "5"],
    )  # fmt: skip
    made.ladder.locks.update({one: SimpleNamespace(pins={"p": one}, moved="", path=script) for one in "12"})
    (step,) = made.steps
    assert step == Step(Interval("end_kept_bytes", "1", "2"), 1e8, 2e8, 4, 2e8, 2e8)
    text = "\n".join([*made.lines(), made.markdown()])
    assert PLANTED not in text
    assert text.count("python mem.py --token '***' --rows 5") == 2 and "\nrows = 5\n" in text


def test_question_of_a_campaign_has_no_secret(tmp_path):
    (tmp_path / "mem.py").touch()
    inline = Inline((f"p @ https://me:{PLANTED}@host/p-1-py3-none-any.whl",))
    question = question_of("bisect", tmp_path / "mem.py", ["--token", PLANTED], inline)
    assert PLANTED not in str(question)


def test_step_of_a_release_that_fails_in_half_of_its_runs_says_so(tmp_path):
    ends = ["completed"] * 31 + ["completed", "failed: ValueError"] * 15
    runs = [Run(Member("mem.py", side), n, "ends 1 2", ends[n + 30 * (side == "2")])
            for n in range(1, 31) for side in "12"]  # fmt: skip
    made = result(tmp_path, runs)
    (step,) = (one for one in made.steps if one.interval.metric == OUTCOME)
    assert (step.first, step.second, step.n) == ("completed", "completed (10) or failed: ValueError (10)", 20)
    answer = Step(Interval(ANSWER, "1", "2"), "a" * 64, f"{'a' * 64} (3) or {'b' * 64} (1)", 4, math.nan, math.nan)
    assert made.sentence(answer) == f"answer: {'a' * 12} → {'a' * 12} (3) or {'b' * 12} (1), n = 4"


def test_metric_that_stays_undecided_is_named(tmp_path):
    runs = runs_of(end_kept_bytes=(1e8, 1e8), peak_kept_bytes=(2e8, 2e8))
    runs = [replace(run, values=run.values | {"peak_kept_bytes": 1e8 * (1 + run.number % 2)}) for run in runs]
    made = result(tmp_path, runs)
    (line,) = [line for line in made.lines() if line.startswith("cannot say")]
    assert line.endswith("are the same in peak of kept memory") and made.status == 2


def test_no_step_is_not_said_where_a_run_lacks_its_peak(tmp_path):
    same = {"end_kept_bytes": (1e8, 1e8)}
    without, whole = (result(tmp_path, runs_of(**same, **more)) for more in ({}, {"peak_kept_bytes": (2e8, 2e8)}))
    assert (without.status, whole.status) == (2, 0)
    assert any("peak of kept memory: not seen in 8 of 8 runs" in line for line in without.lines())
    assert any(line.startswith("no step between p 1 and 2: may have missed") for line in whole.lines())
