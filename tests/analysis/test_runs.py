"""Table `runs`."""

from beyond_ram.analysis.runs import runs
from beyond_ram.metrics import METRICS

from .by_hand import events, record


def test_ids_that_differ_are_flagged_on_every_run_of_that_input():
    same = [(record(mode=mode), events(1)) for mode in ("basic", "shard")]
    assert runs(same)["ids_agree"].tolist() == [True, True]
    other = [*same, (record(num_files=9, ids="cc"), events(1)), (record(cache="warm", ids="bb"), events(1))]
    assert runs(other)["ids_agree"].dropna().tolist() == [False] * 3, "a single run has nothing to agree with"


def test_table_has_cell_scalars_metrics_and_provenance():
    table = runs([(record(), events(5))])
    names = {"experiment", "stack", "rep", "outcome", "cpu_s", "ids_sha256", "lock_sha256", "version_datasets"}
    assert {*names, *METRICS} <= set(table)
    assert table["allocator_settings"].item() == "MALLOC_ARENA_MAX=1"
