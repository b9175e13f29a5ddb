"""Table `ranks`: what becomes of the rows, and of memory, under distributed training."""

import pandas as pd

from .loaders import ACCOUNT, MEMORIES, Records, account, last, phase, tree


def ranks(records: Records) -> pd.DataFrame:
    """A line a run of the workload `ranks`: rows per rank and worker, and the memory of all ranks together."""
    lines = []
    for record, events in records:
        if record.get("workload") != "ranks":
            continue
        work = last(events, "work")
        line = {**record["cell"], "outcome": record["outcome"], "reason": record.get("reason", "")}
        line |= {key: work.get(key) for key in (*ACCOUNT, "rows_per_rank", "rows_per_worker_of_rank")}
        line |= {key: str(line[key]) for key in ("rows_per_rank", "rows_per_worker_of_rank") if line[key] is not None}
        line |= {f"end_{kind}": tree(phase(events, "delivered"), work).get(kind) for kind in MEMORIES}
        lines.append(line | {"account": account(line)})
    return pd.DataFrame(lines, columns=None if lines else ["experiment", "stack", "loader", *ACCOUNT])
