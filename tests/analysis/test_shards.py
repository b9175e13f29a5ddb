"""Table `shards`, and the steps between shards."""

from beyond_ram.analysis.shards import shards, steps

from .by_hand import events, record


def test_steps_are_between_neighbouring_shards_of_one_run():
    table = shards([(record(rep=rep), events(5, shards=4)) for rep in (1, 2)])
    assert steps(table).tolist() == [10.0] * 6
    assert steps(table[table["shard"] != 1]).tolist() == [10.0] * 2
    assert steps(table.head(0)).empty


def test_one_line_per_shard_with_its_cache_use():
    table = shards([(record(cache="rerun", stop_after=2), events(5, shards=4, cached=2)), (record(), events(5))])
    assert len(table) == 6
    rerun = table[table["cache"] == "rerun"]
    assert rerun["from_cache"].tolist() == [True, True, False, False]
    assert rerun["tokenizer_calls"].tolist() == [0, 0, 2, 2]
    assert rerun["anon_bytes"].tolist() == [100, 110, 120, 130]
    assert len(steps(rerun, from_cache=True)) == 1
    assert len(steps(rerun, from_cache=False)) == 2, "including the step from a cached to a computed shard"
