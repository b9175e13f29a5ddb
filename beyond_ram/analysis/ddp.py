"""Table `ddp`: delivered rows and memory under distributed training."""

import pandas as pd

from ..metrics import Records, derive
from ..metrics.base import last
from ..metrics.loading import ACCOUNT
from .loaders import account
from .outcomes import of_run


def ddp(records: Records) -> pd.DataFrame:
    """One line per run of workload `ddp`: rows per rank and worker, and the memory of all ranks together."""
    lines = []
    for record, events in records:
        if record.get("workload") != "ddp":
            continue
        work = last(events, "work")
        line = of_run(record)
        measured = derive(record, events, "ddp")
        line |= {key: measured[key] for key in ACCOUNT}
        line |= {key: str(work[key]) if key in work else None for key in ("rows_per_rank", "rows_per_worker_of_rank")}
        line |= measured
        lines.append(line | {"account": account(line)})
    return pd.DataFrame(lines, columns=None if lines else ["experiment", "stack", "loader", *ACCOUNT])
