"""Table `writers`: the cost of writing a token dataset in a format."""

import pandas as pd

from ..metrics import Records, derive
from ..metrics.base import last
from .outcomes import of_run

COLUMNS = ["rows", "bytes_in", "stored_bytes", "disk_ratio", "write_s", "write_cpu_s", "peak_grown_anon_bytes"]


def writers(records: Records) -> pd.DataFrame:
    """One line per run of workload `write`: seconds, CPU-seconds, stored bytes, and the writer's memory."""
    lines = []
    for record, events in records:
        if record.get("workload") != "write":
            continue
        line = of_run(record)
        if last(events, "work"):
            measured = derive(record, events, "writers")
            line |= {key: measured[key] for key in COLUMNS}
        lines.append(line)
    return pd.DataFrame(lines, columns=None if lines else ["experiment", "stack", "format", *COLUMNS])
