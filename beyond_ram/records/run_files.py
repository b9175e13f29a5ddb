"""The file names of a run's folder, for the watcher, which writes them, and for all readers.

Separate from the watcher: code that reads runs need not be rerun when the watcher's code changes.
"""

RUN_FILES = ("samples.csv", "events.jsonl", "run.json")
# Columns of samples.csv.
COLUMNS = (  # noqa: SIM905
    "t_s phase processes rss_bytes anon_bytes file_bytes shmem_bytes swap_bytes pss_bytes uss_bytes cpu_s read_bytes "
    "written_bytes minor_faults major_faults pss_anon_bytes pss_shmem_bytes pressure_some_s pressure_full_s kept_bytes "
    "cgroup_bytes"
).split()
