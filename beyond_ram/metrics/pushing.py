"""Writing to a Hub: steps of Spark's data source."""

from .base import CLOCK, EXACT, Column, Metric, event_field

COLUMNS: list[Column] = [
    Metric("rows_read", "Rows read", "rows", ("spark",), "rows that the step read; empty if it failed", EXACT,
        event_field("step", "rows")),
    Metric("step_s", "Time of the step", "s", ("spark",), "from its start to its end, with the check", CLOCK,
        event_field("step", "duration_s"), direction="lower"),
]  # fmt: skip
