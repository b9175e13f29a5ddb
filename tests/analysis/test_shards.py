"""Table `shards`."""

from beyond_ram.analysis.shards import shards

from .by_hand import events, record


def test_one_line_per_shard_with_its_cache_use():
    table = shards([(record(cache="rerun", stop_after=2), events(5, shards=4, cached=2)), (record(), events(5))])
    assert len(table) == 6
    rerun = table[table["cache"] == "rerun"]
    assert rerun["from_cache"].tolist() == [True, True, False, False]
    assert rerun["tokenizer_calls"].tolist() == [0, 0, 2, 2]
    assert rerun["anon_bytes"].tolist() == [100, 110, 120, 130]
