"""The workflow as users run it: real stacks, real interruptions, reruns after edits, results kept across an upgrade."""

import json
import mmap
import os
import re
import statistics

import pandas as pd
import pytest

from .conftest import lend_bytecode, link_stack
from .rules.changes import jobs_of, replaced

pytestmark = pytest.mark.slow
# Whole calls with real stacks. tests/rules has the quicker ones, with the cheapest workload.
end_to_end = pytest.mark.end_to_end
MICRO = ("--configfile", "tests/micro.yaml")


def snakemake(run_in, *arguments):
    done = run_in("snakemake", "--cores", "4", *arguments)
    assert done.returncode == 0, done.stderr[-6000:]
    return done


@pytest.fixture(scope="session")
def results(clone, run_in):
    """Make the results of the micro config. A rule builds one of the three stacks; the others exist."""
    for stack in ("corpora", "current"):
        link_stack(stack, clone)
    lend_bytecode("june-2023", clone / ".stacks")
    snakemake(run_in, *MICRO)
    return clone / "results-micro"


def table(results, name):
    return pd.read_csv(results / "tables" / f"{name}.csv")


def records(results):
    return [(path.parent, json.loads(path.read_text())) for path in sorted((results / "runs").rglob("run.json"))]


def events(folder, name):
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [event for event in lines if event["event"] == name]


def planned(run_in, *arguments):
    """Return the run folders that a dry run would make again."""
    done = snakemake(run_in, "-n", *MICRO, *arguments)
    return sorted(
        set(re.findall(r"^\s+output: results-micro/runs/(\S+)/run\.json", done.stdout + done.stderr, re.MULTILINE))
    )


@end_to_end
def test_every_run_is_complete_and_its_samples_add_up(results):
    runs = records(results)
    assert len(runs) == 8
    for folder, record in runs:
        samples = pd.read_csv(folder / "samples.csv")
        assert len(samples) == record["sampler"]["samples"] > 10
        assert (samples["rss_bytes"] == samples["anon_bytes"] + samples["file_bytes"] + samples["shmem_bytes"]).all()
        assert samples["t_s"].is_monotonic_increasing
        assert record["cell"]["stack"] in folder.as_posix()
        assert record["provenance"]["versions"]["datasets"]
        assert re.fullmatch("[0-9a-f]{64}", record["provenance"]["lock_sha256"])
    assert not (results / "private").exists(), "private folders are left"


@end_to_end
def test_cold_runs_start_without_their_input_in_the_page_cache(results):
    cold = [record for _, record in records(results) if record["cell"]["cache"] == "cold"]
    assert cold
    assert all(record["page_cache"]["input_resident_before"] < 0.05 for record in cold)
    assert all(record["page_cache"]["input_resident_after"] > 0.5 for record in cold)


@end_to_end
def test_sampled_peak_agrees_with_the_kernel(results):
    """Compare two independent readings: the largest sample, and the kernel's high-water mark."""
    gaps = [
        record["peak"]["rss_bytes"] / record["peak"]["hwm_bytes"]["processes"][0]["hwm_bytes"] - 1
        for _, record in records(results)
    ]
    assert statistics.median(gaps) > -0.01
    assert min(gaps) > -0.03
    # The kernel counts resident pages in batches of 64 for each processor, and takes the mark from these counts.
    batches_bytes = 64 * mmap.PAGESIZE * (os.cpu_count() or 1)
    above = []
    for folder, record in records(results):
        samples = pd.read_csv(folder / "samples.csv")
        largest = samples.loc[samples["rss_bytes"].idxmax()]
        (process,) = record["peak"]["hwm_bytes"]["processes"]
        if largest["processes"] == 1:  # a short-lived child is in the tree's sum, but not in its parent's mark
            above.append(largest["rss_bytes"] - process["hwm_bytes"])
    assert len(above) > len(gaps) / 2
    assert max(above) <= batches_bytes, "a sample is above the mark"


@end_to_end
def test_ids_are_the_same_in_every_mode_cache_state_and_stack(results):
    runs = table(results, "runs").dropna(subset="ids_sha256")
    assert runs["ids_agree"].all()
    assert runs.groupby("num_files")["ids_sha256"].nunique().eq(1).all()
    assert set(runs["stack"]) == {"june-2023", "current"}


@end_to_end
def test_rerun_takes_finished_shards_from_the_cache(results):
    shards = table(results, "shards")
    for stack in ("june-2023", "current"):
        mine = shards[shards["stack"] == stack]
        interrupted = mine[mine["cache"] == "interrupted"]
        assert interrupted["shard"].tolist() == [0, 1]
        assert not interrupted["from_cache"].any()
        rerun = mine[mine["cache"] == "rerun"]
        assert rerun["from_cache"].tolist() == [True, True, False]
        assert rerun.loc[rerun["from_cache"], ["tokenizer_calls", "cache_bytes_written"]].eq(0).all().all()
        assert mine.loc[mine["cache"] == "warm", "from_cache"].all()


@end_to_end
def test_interrupted_run_was_killed(results):
    killed = [(folder, record) for folder, record in records(results) if record["cell"]["cache"] == "interrupted"]
    assert len(killed) == 2
    for folder, record in killed:
        assert (record["outcome"], record["signal"], record["completed_work"]) == (
            "interrupted_on_purpose",
            "SIGKILL",
            False,
        )
        assert len(events(folder, "shard")) == 2
        assert not events(folder, "work")
        assert record["work"] == {}


@end_to_end
def test_tables_figures_and_captions_are_complete(results):
    for csv in (results / "tables").glob("*.csv"):
        assert len(pd.read_parquet(csv.with_suffix(".parquet"))) == len(pd.read_csv(csv))
    for name in ("runs", "growth", "shards"):
        assert len(table(results, name)), name
    figures = sorted((results / "figures").glob("*.svg"))
    # There are no figures of experiments that this config does not run.
    assert [figure.stem for figure in figures] == ["growth_by_input", "staircase"]
    report = (results / "report.html").read_text()
    for figure in figures:
        assert figure.with_suffix(".png").stat().st_size > 5000
        assert figure.with_suffix(".txt").stat().st_size > 20
        assert figure.name in report
    assert not re.search(r"<(?:script|link)[^>]+(?:src|href)=\"https?://", report), "the report loads from the network"


@end_to_end
def test_second_call_does_nothing_even_after_a_lock_was_touched(results, clone, run_in):
    (clone / "envs/june-2023.txt").touch()
    assert "Nothing to be done" in snakemake(run_in, *MICRO).stderr


@end_to_end
def test_editing_a_lock_reruns_only_its_stack(results, clone, run_in):
    with replaced(clone / "envs/june-2023.txt", "", "# edited\n"):
        again = planned(run_in)
    assert again
    assert all("/stack~june-2023/" in path for path in again)
    assert len(again) == 2  # the warm run, and one job for interrupted and rerun


@end_to_end
@pytest.mark.parametrize(
    ("edited", "rerun", "untouched"),
    [
        ("scripts/workloads/encoders.py", {"measure", "measure_interrupted", "table_runs"}, {"corpus"}),
        ("beyond_ram/watch/sampler.py", {"report"}, {"measure", "table_runs", "figure_staircase"}),
    ],
)
def test_edited_file_reruns_only_its_outputs(results, clone, run_in, edited, rerun, untouched):
    with replaced(clone / edited, "", "# edited\n"):
        rules = {*jobs_of(snakemake(run_in, "-n", *MICRO))}
    assert rerun <= rules
    assert not untouched & rules


@end_to_end
def test_after_an_upgrade_the_report_compares_both_locks(clone, run_in):
    added = run_in("beyond-ram", "stack", "add", "mine", "tqdm==4.67.0")
    assert added.returncode == 0, added.stderr
    (clone / "own.py").write_text("import tqdm\nkept = bytearray(b'x' * 20_000_000)\n")
    own = "experiments: {own: {workload: script, repeats: 2, matrix: {stack: [mine], script: [own]}}}\n"
    (clone / "upgrade.yaml").write_text(
        f"defaults: none\nresults: results-upgrade\nscripts: {{own: {{file: own.py}}}}\n{own}"
    )
    wanted = ("results-upgrade/tables/comparisons.csv", "results-upgrade/report.html")
    configs = ("--configfile", "upgrade.yaml")
    (clone / "envs/mine.in").write_text("tqdm\n")
    upgraded = run_in("beyond-ram", "stack", "upgrade", "mine", "tqdm")
    assert upgraded.returncode == 0, upgraded.stderr
    snakemake(run_in, *wanted, *configs)
    runs = table(clone / "results-upgrade", "runs")
    assert runs.groupby("stack")["lock_sha256"].agg(["size", "nunique"]).to_numpy().tolist() == 2 * [[2, 1]]
    assert runs["lock_sha256"].nunique() == 2
    assert "mine-before" in (clone / wanted[0]).read_text()
    moved = next(line for line in upgraded.stdout.splitlines() if line.startswith("tqdm 4.67.0 to "))
    report = (clone / wanted[1]).read_text()
    assert f"mine-before and mine: 1 package: {moved}." in report
    assert f"What did {moved} change?" in report
    assert "Nothing to be done" in snakemake(run_in, *wanted, *configs).stderr
    for path in (clone / "envs").glob("mine-before.*"):
        path.unlink()


def test_stack_that_cannot_be_resolved_is_refused(clone, run_in):
    done = run_in("beyond-ram", "stack", "add", "never", "datasets==5.2.0", "pyarrow==12.0.1")
    assert done.returncode == 2
    assert "cannot be resolved" in done.stderr
    assert not list((clone / "envs").glob("*never*"))
