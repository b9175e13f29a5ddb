"""Plans: the cells of a part and no others."""

import functools
import re

import pytest

from ..conftest import ROOT
from .changes import jobs_of

# A dry run of the default config costs some seconds.
pytestmark = pytest.mark.slow
SHIPPED = ("config.yaml", *sorted(f"config/{path.name}" for path in (ROOT / "config").glob("*.yaml")))
# A thousand of its ten thousand cells: to plan all takes half a minute.
FEWER = {"config/scale.yaml": ("experiments={scale: {matrix: {epochs: [1, 2, 3, 4, 5]}}}",)}


@pytest.fixture(scope="module")
def dry_run(run_in, clone):
    """A dry run; each runs once."""

    @functools.cache
    def plan(*words, config=()):
        return run_in("snakemake", "-n", "--cores", "2", *words, "--config", f"results={clone}/never-made", *config)

    return plan


def test_part_plans_only_its_own_jobs(dry_run):
    jobs = jobs_of(dry_run("tokenize"))
    assert {"table_runs", "table_growth", "table_shards"} <= set(jobs)
    assert not {"table_streaming", "table_loaders", "repository", "report"} & set(jobs)
    assert jobs["measure"] > 1


@pytest.mark.parametrize(("target", "nearest"), [("growht", "table_growth"), ("lod", "load")])
def test_unknown_target_gets_the_nearest_one(dry_run, target, nearest):
    done = dry_run(target)
    assert done.returncode != 0
    assert f"beyond-ram: no target {target!r}; did you mean {nearest!r}?" in done.stdout + done.stderr


@pytest.mark.end_to_end
@pytest.mark.parametrize("config", SHIPPED)
def test_every_shipped_config_has_a_plan(dry_run, config):
    # To print a job takes as long as to plan it.
    jobs = jobs_of(dry_run("--configfile", config, "--quiet", "rules", config=FEWER.get(config, ())))
    assert jobs["report"] == 1
    assert jobs["measure"] > 1


def test_report_covers_the_part_that_is_named_with_it(dry_run):
    jobs = jobs_of(dry_run("limit", "report"))
    assert {"report", "table_runs", "table_limits"} <= set(jobs)
    assert not {"figure_growth_by_input", "tokens", "repository"} & set(jobs)
    assert jobs["measure"] == 1


def test_each_run_has_a_place_of_its_own_after_inputs_and_earlier_repeats(dry_run):
    """Repeats are blocks in time; inputs of runs come before all of them."""
    jobs = [job.partition("\n\n")[0] for job in re.split(r"\n(?:local)?rule ", dry_run().stdout + dry_run().stderr)]
    places = {}
    for job in jobs:
        repeat, place = re.search(r"/rep~(\d+)/run\.json", job), re.search(r"priority: (\d+)", job)
        if repeat and place and "wildcards" in job:
            places.setdefault(int(repeat[1]), []).append(int(place[1]))
    inputs = [re.search(r"priority: (\d+)", job) for job in jobs if job.startswith(("stack:", "corpus:"))]
    assert {bool(priority) for priority in inputs} == {True}
    assert min(int(priority[1]) for priority in inputs) > max(places[1])
    assert len(places[1]) >= len(places[2]) > 10
    assert all(len({*own}) == len(own) for own in places.values())
    assert min(places[1]) > max(places[2]) > 0
