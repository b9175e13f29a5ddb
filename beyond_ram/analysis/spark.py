"""Table `spark`: what Spark's data source for the Hub can do, in which version."""

import pandas as pd

from ..metrics import Records, derive

VERSIONS = ("pyspark_huggingface", "pyspark", "huggingface_hub", "datasets")
STEP_FIELDS = ("step", "works", "reason")
COLUMNS = ["experiment", "stack", "repository", "rep", *VERSIONS, "step", "works", "rows_read", "reason", "step_s"]
COLUMNS += ["peak_anon_bytes", "outcome", "completed_work"]


def tried(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of steps of runs that came to their end, from which a step that fails does not keep them."""
    return table[table["step"].notna() & table["completed_work"].astype(bool)]


def spark(records: Records) -> pd.DataFrame:
    """A line a step of a run; one without a step where Spark could not be started. `reason` is why not, where not."""
    lines = []
    for record, events in records:
        versions = record["provenance"]["versions"]
        cell = {
            **record["cell"],
            **{name: versions.get(name.replace("_", "-")) for name in VERSIONS},
            **derive(record, [], "spark"),
            "outcome": record["outcome"],
            "completed_work": record["completed_work"],
        }
        steps = [event for event in events if event["event"] == "step"]
        lines += [
            {**cell, **derive(record, [step], "spark"), **{name: step[name] for name in STEP_FIELDS}} for step in steps
        ]
        if not steps:
            lines.append({**cell, "reason": record.get("reason", "")})
    return pd.DataFrame(lines, columns=COLUMNS).astype({"works": "boolean", "rows_read": "Int64"})
