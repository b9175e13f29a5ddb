"""What is planned: the cells of a part and no others."""

import re
from pathlib import Path

import pytest

from ..conftest import Run

# A dry run of the default config costs some seconds.
pytestmark = pytest.mark.slow
RULE = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)


def planned(run_in: Run, clone: Path, *words: str, config: tuple[str, ...] = ()) -> dict[str, int]:
    """How many jobs of each rule a dry run plans."""
    done = run_in("snakemake", "-n", "--cores", "2", *words, "--config", f"results={clone}/never-made", *config)
    assert done.returncode == 0, done.stderr[-3000:]
    return {rule: int(count) for rule, count in RULE.findall(done.stdout + done.stderr) if rule != "total"}


@pytest.mark.parametrize(
    ("part", "tables", "others"),
    [
        (
            "tokenize",
            {"table_runs", "table_growth", "table_shards"},
            {"table_streaming", "table_loaders", "repository"},
        ),
        ("stream", {"table_streaming", "table_claims", "table_dedup"}, {"corpus", "tokens", "table_growth"}),
    ],
)
def test_a_part_plans_its_own(run_in: Run, clone: Path, part: str, tables: set[str], others: set[str]) -> None:
    found = planned(run_in, clone, part)
    assert tables <= set(found)
    assert not others & set(found)
    assert found["weigh"] > 1
    assert "report" not in found


def test_a_report_is_made_of_the_part_that_is_named_beside_it(run_in: Run, clone: Path) -> None:
    found = planned(run_in, clone, "limit", "report")
    assert {"report", "table_runs", "table_limits"} <= set(found)
    assert not {"claims_page", "choices_page", "figure_memory_over_time", "tokens", "repository"} & set(found)
    assert found["weigh"] == 2


def test_one_latency_and_bandwidth_is_a_line_of_a_table_and_no_map_of_one_colour(run_in: Run, clone: Path) -> None:
    one = planned(run_in, clone, "stream")
    swept = "experiments={buffering: {matrix: {latency_ms: [20, 40]}}}"
    assert "table_comparisons" in one
    assert "figure_prefetch_gain" not in one
    assert "figure_prefetch_gain" in planned(run_in, clone, "stream", config=(swept,))


def test_repeat_1_of_everything_comes_before_repeat_2(run_in: Run, clone: Path) -> None:
    """Repeats are blocks in time; what runs need comes before all of them."""
    words = ("snakemake", "-n", "--cores", "2", "explain", "--config", f"results={clone}/never-made")
    done = run_in(*words)
    assert done.returncode == 0, done.stderr[-3000:]
    jobs = re.split(r"\n(?=(?:local)?(?:rule|checkpoint) )", done.stdout + done.stderr)
    runs = {int(rep): int(found) for job in jobs for rep, found in re.findall(r"rep~(\d)\n +priority: (\d+)", job)}
    assert set(runs) == {1, 2}
    needed = [
        int(found) for job in jobs for found in re.findall(r"^rule (?:stack|corpus):.*?priority: (\d+)", job, re.S)
    ]
    assert needed
    assert min(needed) > runs[1] > runs[2] > 0
