"""Table `spark`: what Spark's data source for the Hub can do, in which version."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

VERSIONS = ("pyspark_huggingface", "pyspark", "huggingface_hub", "datasets")
SAID = ("step", "works", "rows", "reason", "seconds")
COLUMNS = ["experiment", "stack", "repository", "rep", *VERSIONS, *SAID, "peak_anon_bytes", "outcome"]


def spark(records: Iterable[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """A line a step of a run; one without a step where Spark could not be started. `reason` is why not, where not."""
    lines = []
    for record, events in records:
        versions = record["provenance"]["versions"]
        known = {
            **record["cell"],
            **{name: versions.get(name.replace("_", "-")) for name in VERSIONS},
            "peak_anon_bytes": record["peak"].get("anon_bytes"),
            "outcome": record["outcome"],
        }
        steps = [event for event in events if event["event"] == "step"]
        lines += [{**known, **{name: step[name] for name in SAID}} for step in steps]
        if not steps:
            lines.append({**known, "reason": record.get("reason", "")})
    return pd.DataFrame(lines, columns=COLUMNS).astype({"works": "boolean", "rows": "Int64"})
