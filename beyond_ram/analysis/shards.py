"""Table `shards`: one line per shard of a run."""

import pandas as pd

from ..metrics import Records

KINDS = ("rss_bytes", "anon_bytes", "file_bytes")
COLUMNS = ["experiment", "stack", "mode", "cache", "num_files", "shard", "from_cache", *KINDS]


def shards(records: Records) -> pd.DataFrame:
    """Memory of the process tree after each shard in bytes, and whether the shard came from the cache.

    A shard from the cache has no `tokenizer_calls` and no `cache_bytes_written`, which proves it.
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
