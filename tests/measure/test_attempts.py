"""A command under a memory limit, started again until it completes."""

import json

import pytest

from beyond_ram.experiment import Job
from beyond_ram.measure.attempts import MOST, again_until_done

from ..watch.conftest import needs_group
from .conftest import EVENTS, measured

# Keeps 40 MB for each of four shards that it computes, and nothing for those that it finds in its work folder.
PROGRAM = f"""
import pathlib, time
{EVENTS}
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
work, kept = pathlib.Path(given["--work-dir"]), []
for shard in range(4):
    cached = (work / str(shard)).exists()
    if not cached:
        kept.append(b"x" * 40_000_000)
        (work / str(shard)).touch()
    events.mark("shard", shard=shard, rows=1, from_cache=cached, tokenizer_calls=0, cache_bytes_written=0)
events.mark("work", rows=4)
"""
LIMIT_MB = 110


@needs_group
@pytest.mark.slow
def test_killed_command_completes_with_what_earlier_starts_finished(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    path = "limited/stack~current/case~flat/cache~cold/rep~1"
    job = Job(path=path, workload="soak", program=str(tmp_path / "program.py"), limit_mb=LIMIT_MB)
    record = measured(job, tmp_path)
    attempts = record["attempts"]
    assert [one["outcome"] for one in attempts] == ["killed_at_limit", "completed"]
    assert record["outcome"] == "completed" and record["memory_limit_bytes"] == LIMIT_MB * 10**6
    assert [shard["from_cache"] for shard in attempts[0]["shards"]] == [False, False]
    # The kernel kills while the third shard fills its memory, before it is finished.
    assert [shard["from_cache"] for shard in attempts[1]["shards"]] == [True, True, False, False]
    anon = [shard["anon_bytes"] for shard in attempts[1]["shards"]]
    assert anon[1] < anon[0] + 4e6 and anon[3] > anon[1] + 70e6
    for one in attempts:
        assert max(point["rss_bytes"] for point in one["course"]) == one["peak_bytes"]


def _measured(folder, outcome, shards):
    """The record and files of a start that finished some shards."""
    (folder / "samples.csv").write_text("t_s,rss_bytes,anon_bytes\n0,5,3\n1,9,4\n")
    events = [{"t_s": 0.5, "event": "shard", "shard": n, "from_cache": False, "rows": 1, "tokenizer_calls": 0,
               "cache_bytes_written": 0} for n in range(shards)]  # fmt: skip
    ends = {"t_s": 1.0, "event": "end", "exit_status": 0, "signal": None}
    events = [{"t_s": 0.0, "event": "start"}, *events, ends]
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return {"outcome": outcome, "duration_s": 1.0, "peak": {"rss_bytes": 9}}


@pytest.mark.parametrize(
    ("outcomes", "starts"),
    [
        ([("completed", 4)], 1),
        ([("killed_at_limit", 1), ("killed_at_limit", 3), ("completed", 4)], 3),
        ([("killed_at_limit", 2), ("killed_at_limit", 2), ("completed", 4)], 2),  # no further than before
        ([("killed_at_limit", 1), ("failed", 1), ("completed", 4)], 2),
        ([("killed_at_limit", n) for n in range(2 * MOST)], MOST),
    ],
)
def test_starts_end_when_the_next_would_be_the_same(outcomes, starts, tmp_path):
    coming = iter(outcomes)
    record = again_until_done(lambda: _measured(tmp_path, *next(coming)), tmp_path)
    assert [one["outcome"] for one in record["attempts"]] == [outcome for outcome, _ in outcomes[:starts]]
