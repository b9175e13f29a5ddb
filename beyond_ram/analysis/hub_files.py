"""Table `hub_files`: the requests, bytes and time that a sample of a file on a Hub costs."""

import pandas as pd

from ..metrics import Records, derive
from .frame import axes_of
from .outcomes import of_run

CHECKED = ["samples_twice", "samples_wrong"]
COUNTED = ["requests", "requests_data", "bytes_received", "data_bytes_received", "in_flight_max"]
ENDPOINT = ["endpoint_cpu_s", "endpoint_cpu_share", "endpoint_busy_s", "endpoint_injected_s"]
PER_SAMPLE = ["requests_per_sample", "bytes_per_sample", "s_per_sample"]
COLUMNS = ["experiment", *axes_of("hub-files"), "rep", "outcome", "reason", *CHECKED, *COUNTED, *PER_SAMPLE]
COLUMNS += ["payload_bytes", "read_s", "read_s_without_endpoint", "median_sample_s", "peak_anon_bytes", *ENDPOINT]


def hub_files(records: Records) -> pd.DataFrame:
    """One line per run. Requests are those of the whole run, including listing the repository; None if not counted."""
    lines = [of_run(record) | derive(record, events, "hub_files") for record, events in records]
    return pd.DataFrame(lines, columns=COLUMNS)
