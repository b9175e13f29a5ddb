"""The line about a job, from made-up records and groups."""

import pytest

from beyond_ram.watch import jobs

MIB = 1 << 20


def group(folder, *, peak, cache, limit, kills=0):
    """Write the files of a group of cgroup v2 that holds only page cache, in MiB."""
    for name, text in {
        "memory.current": cache * MIB,
        "memory.peak": peak * MIB,
        "memory.max": limit * MIB,
        "memory.events": f"oom_kill {kills}",
        "memory.stat": f"anon 0\nfile {cache * MIB}\ninactive_file {cache * MIB}\nactive_file 0\nshmem 0",
    }.items():
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    ("sizes", "line"),
    [
        (
            {"peak": 200, "cache": 50},
            "asked for 1,049 MB; used 210 MB at once with page cache, 52 MB of it page cache now; next time ask for "
            "at most 277 MB (--mem=264M)",
        ),
        (
            {"peak": 1000, "cache": 800},
            "asked for 1,049 MB; used 1,049 MB at once with page cache, 839 MB of it page cache now; next time ask for "
            "at least 277 MB (--mem=264M)",
        ),
        (
            {"peak": 1000, "cache": 1, "kills": 1},
            "asked for 1,049 MB; used 1,049 MB at once with page cache, 1 MB of it page cache now, killed for want of "
            "memory; next time ask for at least 1,051 MB (--mem=1002M)",
        ),
    ],
    ids=["far below its limit", "filled by page cache", "killed"],
)
def test_request_of_a_job_that_was_not_watched(sizes, line, tmp_path):
    assert jobs.of_group(group(tmp_path, limit=1000, **sizes), 2)[0] == line
