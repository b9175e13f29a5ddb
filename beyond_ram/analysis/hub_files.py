"""Table `hub_files`: what a sample out of a file on a Hub costs in requests, bytes and time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from .frame import axes_of

CHECKED = ["samples_twice", "samples_wrong"]
COUNTED = ["requests", "requests_data", "bytes_received", "data_bytes_received", "in_flight_max"]
PER_SAMPLE = ["requests_per_sample", "bytes_per_sample", "s_per_sample"]
COLUMNS = ["experiment", *axes_of("hub-files"), "rep", "outcome", "reason", *CHECKED, *COUNTED, *PER_SAMPLE]
COLUMNS += ["payload_bytes", "seconds", "median_sample_s", "peak_anon_bytes"]


def hub_files(records: Iterable[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """A line a run. What was asked is of all the run, listing the repository included; None where nobody counted."""
    return pd.DataFrame([_line(record, events) for record, events in records], columns=COLUMNS)


def _line(record: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    work = record["work"]
    said: Mapping[str, Any] = next((event for event in events if event["event"] == "samples"), {})
    asked: Mapping[str, Mapping[str, int]] | None = work.get("requests")
    requests = None if asked is None else sum(sum(roles.values()) for roles in asked.values())
    samples = said.get("samples")
    line = {
        **record["cell"],
        "outcome": record["outcome"],
        "reason": record.get("reason", ""),
        **{key: said.get(key) for key in (*CHECKED, "payload_bytes", "seconds", "median_sample_s")},
        **{key: work.get(key) for key in COUNTED},
        "requests": requests,
        "requests_data": None if asked is None else sum(asked.get("data", {}).values()),
        "peak_anon_bytes": record["peak"].get("anon_bytes"),
    }
    for name, of in zip(PER_SAMPLE, ("requests", "bytes_received", "seconds"), strict=True):
        line[name] = line[of] / samples if samples and line[of] is not None else None
    return line
