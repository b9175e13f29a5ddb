"""Table `spark`: what Spark's data source for the Hub can do, by version."""

import pandas as pd

from ..metrics import Records, derive

VERSIONS = ("pyspark_huggingface", "pyspark", "huggingface_hub", "datasets")
STEP_FIELDS = ("step", "works", "reason")
COLUMNS = ["experiment", "stack", "repository", "rep", *VERSIONS, "step", "works", "rows_read", "reason", "step_s"]
COLUMNS += ["peak_anon_bytes", "outcome", "completed_work"]


def tried(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of steps in runs that ended. A step that fails does not prevent that."""
    return table[table["step"].notna() & table["completed_work"].astype(bool)]


def spark(records: Records) -> pd.DataFrame:
    """One line per step of a run, or one without a step if Spark did not start. `reason` says why something failed."""
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
