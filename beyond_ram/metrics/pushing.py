"""Writing to a Hub: edits of a table pushed to Xet storage, and steps of Spark's data source."""

from .base import CLOCK, CPU, EXACT, Column, Derive, Events, Metric, Record, event_field, share

_XET = "exact: counted by hf_xet"


def _of_edit(key: str) -> Derive:
    return event_field("edit", key)


def _new_share(record: Record, events: Events) -> float | None:
    return share(_of_edit("new_bytes")(record, events), _of_edit("file_bytes")(record, events))


COLUMNS: list[Column] = [
    Metric("edited_rows", "Rows after the edit", "rows", ("dedup",), "rows of the table", EXACT, _of_edit("rows")),
    Metric("parquet_bytes", "Parquet file", "bytes", ("dedup",), "size of the file after the edit", EXACT,
        _of_edit("file_bytes"), direction="lower"),
    Metric("table_bytes", "Table in memory", "bytes", ("dedup",), "`nbytes` of the Arrow table", EXACT,
        _of_edit("table_bytes")),
    Metric("new_bytes", "New to storage", "bytes", ("dedup",),
        "bytes of chunks that storage did not have, before Xet compresses them", _XET, _of_edit("new_bytes"),
        direction="lower"),
    Metric("uploaded_bytes", "Uploaded", "bytes", ("dedup",), "bytes sent, after Xet compresses them", _XET,
        _of_edit("uploaded_bytes"), direction="lower"),
    Metric("new_chunks", "New chunks", "chunks", ("dedup",), "chunks that storage did not have", _XET,
        _of_edit("new_chunks"), direction="lower"),
    Metric("total_chunks", "Chunks of the file", "chunks", ("dedup",), "chunks of the file", _XET,
        _of_edit("total_chunks")),
    Metric("new_share", "New share of the file", "share", ("dedup",), "new_bytes / parquet_bytes", _XET,
        _new_share, direction="lower"),
    Metric("file_write_cpu_s", "CPU time to write the file", "s", ("dedup",), "process clock over the writing", CPU,
        _of_edit("write_cpu_s"), direction="lower"),
    Metric("file_write_s", "Time to write the file", "s", ("dedup",), "monotonic clock over the writing", CLOCK,
        _of_edit("write_s"), direction="lower"),
    Metric("push_cpu_s", "CPU time to push the file", "s", ("dedup",), "process clock over the push", CPU,
        _of_edit("push_cpu_s"), direction="lower"),
    Metric("rows_read", "Rows read", "rows", ("spark",), "rows that the step read; empty if it failed", EXACT,
        event_field("step", "rows")),
    Metric("step_s", "Time of the step", "s", ("spark",), "from its start to its end, with the check", CLOCK,
        event_field("step", "duration_s"), direction="lower"),
]  # fmt: skip
