"""Table `runs`."""

from beyond_ram.analysis.runs import runs
from beyond_ram.metrics import METRICS

from .by_hand import events, record


def test_ids_that_differ_are_flagged_on_every_run_of_that_input() -> None:
    same = [(record(mode=mode), events(1)) for mode in ("basic", "shard")]
    assert runs(same)["ids_agree"].tolist() == [True, True]
    other = [*same, (record(num_files=9, ids="cc"), events(1)), (record(cache="warm", ids="bb"), events(1))]
    assert runs(other)["ids_agree"].dropna().tolist() == [False] * 3, "one alone agrees with nobody"


def test_runs_holds_the_cell_the_scalars_every_metric_and_the_provenance() -> None:
    table = runs([(record(), events(5))])
    assert {
        "experiment",
        "stack",
        "rep",
        "outcome",
        "cpu_s",
        "ids_sha256",
        "lock_sha256",
        "version_datasets",
        *METRICS,
    } <= set(table)
    assert table["allocator_settings"].item() == "MALLOC_ARENA_MAX=1"


def test_what_the_user_has_set_of_threads_is_told_and_empty_where_it_was_not_looked_at() -> None:
    with_setting, before = record(), record()
    with_setting["provenance"] = with_setting["provenance"] | {"thread_settings": {"OMP_NUM_THREADS": "3"}}
    before["provenance"] = {key: kept for key, kept in before["provenance"].items() if key != "thread_settings"}
    settings = [runs([(one, events(5))])["thread_settings"].item() for one in (with_setting, record(), before)]
    assert settings == ["OMP_NUM_THREADS=3", "", None]
