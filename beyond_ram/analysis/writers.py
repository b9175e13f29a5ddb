"""Table `writers`: what writing a token dataset in a format takes."""

import pandas as pd

from .loaders import Records, last, tree


def writers(records: Records) -> pd.DataFrame:
    """A line a run of the workload `write`: seconds, CPU-seconds, bytes stored, and the writer's memory."""
    lines = []
    for record, events in records:
        if record.get("workload") != "write":
            continue
        work, imported = last(events, "work"), last(events, "imported")
        line = {**record["cell"], "outcome": record["outcome"], "reason": record.get("reason", "")}
        if work:
            trees = tree(work), tree(imported)
            line |= {
                "rows": work["rows"],
                "bytes_in": work["bytes_in"],
                "stored_bytes": work["stored_bytes"],
                "disk_ratio": work["stored_bytes"] / work["bytes_in"],
                "write_s": work["t_s"] - imported["t_s"],
                "write_cpu_s": trees[0]["cpu_s"] - trees[1]["cpu_s"],
                "peak_grown_anon_bytes": record["peak"]["anon_upper_bound_bytes"] - trees[1]["anon_bytes"],
            }
        lines.append(line)
    return pd.DataFrame(lines, columns=None if lines else ["experiment", "stack", "format", "disk_ratio"])
