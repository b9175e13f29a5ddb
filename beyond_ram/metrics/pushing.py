"""Writing to a Hub: edits of a table pushed to Xet storage, and what Spark's data source can do."""

from .base import CLOCK, CPU, EXACT, Column, Derive, Events, Metric, Record, event_field, share

_XET = "exact: what hf_xet says of the push"


def _of_edit(key: str) -> Derive:
    return event_field("edit", key)


def _new_share(record: Record, events: Events) -> float | None:
    return share(_of_edit("new_bytes")(record, events), _of_edit("file_bytes")(record, events))


COLUMNS: list[Column] = [
    Metric(
        key="edited_rows", label="Rows after the edit", unit="rows", tables=("dedup",), derivation="rows of the table",
        trust=EXACT, derive=_of_edit("rows"),
    ),
    Metric(
        key="parquet_bytes", label="Parquet file", unit="bytes", direction="lower", tables=("dedup",),
        derivation="size of the file after the edit", trust=EXACT, derive=_of_edit("file_bytes"),
    ),
    Metric(
        key="table_bytes", label="Table in memory", unit="bytes", tables=("dedup",),
        derivation="`nbytes` of the Arrow table", trust=EXACT, derive=_of_edit("table_bytes"),
    ),
    Metric(
        key="new_bytes", label="New to storage", unit="bytes", direction="lower", tables=("dedup",),
        derivation="bytes of chunks that storage had not, before Xet compresses them", trust=_XET,
        derive=_of_edit("new_bytes"),
    ),
    Metric(
        key="uploaded_bytes", label="Uploaded", unit="bytes", direction="lower", tables=("dedup",),
        derivation="bytes sent, after Xet compresses them", trust=_XET, derive=_of_edit("uploaded_bytes"),
    ),
    Metric(
        key="new_chunks", label="New chunks", unit="chunks", direction="lower", tables=("dedup",),
        derivation="chunks that storage had not", trust=_XET, derive=_of_edit("new_chunks"),
    ),
    Metric(
        key="total_chunks", label="Chunks of the file", unit="chunks", tables=("dedup",),
        derivation="chunks that the file is cut into", trust=_XET, derive=_of_edit("total_chunks"),
    ),
    Metric(
        key="new_share", label="Share of the file that is new", unit="share", direction="lower", tables=("dedup",),
        derivation="new_bytes / parquet_bytes", trust=_XET, derive=_new_share,
    ),
    Metric(
        key="file_write_cpu_s", label="CPU time to write the file", unit="s", direction="lower", tables=("dedup",),
        derivation="process clock over the writing", trust=CPU, derive=_of_edit("write_cpu_s"),
    ),
    Metric(
        key="file_write_s", label="Time to write the file", unit="s", direction="lower", tables=("dedup",),
        derivation="clock over the writing", trust=CLOCK, derive=_of_edit("write_s"),
    ),
    Metric(
        key="push_cpu_s", label="CPU time to push the file", unit="s", direction="lower", tables=("dedup",),
        derivation="process clock over the push", trust=CPU, derive=_of_edit("push_cpu_s"),
    ),
    Metric(
        key="rows_read", label="Rows that came", unit="rows", tables=("spark",),
        derivation="rows that the step found; empty where it failed", trust=EXACT, derive=event_field("step", "rows"),
    ),
    Metric(
        key="step_s", label="Time of the step", unit="s", direction="lower", tables=("spark",),
        derivation="from its begin to its end, the check included", trust=CLOCK,
        derive=event_field("step", "duration_s"),
    ),
]  # fmt: skip
