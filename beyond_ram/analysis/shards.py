"""Table `shards`: a line a shard of a run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

KINDS = ("rss_bytes", "anon_bytes", "file_bytes")
COLUMNS = ["experiment", "stack", "mode", "cache", "num_files", "shard", "from_cache", *KINDS]


def shards(records: Iterable[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """Memory of the whole tree after each shard, whether it came from cache, and the proof of it.

    A shard from cache has no `tokenizer_calls` and no `cache_bytes_written`. Memory in bytes.
    """
    lines = [
        {
            **record["cell"],
            "outcome": record["outcome"],
            **{key: event[key] for key in ("shard", "from_cache", "rows", "tokenizer_calls", "cache_bytes_written")},
            **{kind: event.get("tree", {}).get(kind) for kind in KINDS},
        }
        for record, events in records
        for event in events
        if event["event"] == "shard"
    ]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)
