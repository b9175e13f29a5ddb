"""What a person reads at the end of a run."""

from collections.abc import Iterable
from typing import Any


def megabytes(size_bytes: float | None) -> str:
    return "not sampled" if size_bytes is None else f"{size_bytes / 1e6:,.0f} MB"


def lines(record: dict[str, Any]) -> Iterable[str]:
    """A short readable summary of a run's record."""
    peak, processes = record["peak"], record["peak"]["hwm_bytes"]["processes"]
    yield f"outcome      {record['outcome']}" + (f" by {record['signal']}" if record["signal"] else "")
    yield f"time         {record['duration_s']:.1f} s, {record['cpu_s']:.1f} s of CPU"
    yield f"peak RSS     {megabytes(peak['rss_bytes'])} over the whole process tree, as sampled"
    yield f"  anonymous  {megabytes(peak['anon_bytes'])}: heap and stacks; only the program can give it back"
    yield f"  file       {megabytes(peak['file_bytes'])}: mapped files; the kernel can take it back"
    yield f"  shared     {megabytes(peak['shmem_bytes'])}: shared memory and tmpfs"
    yield f"PSS          {megabytes(peak['pss_bytes'])}, shared pages counted once: the largest of few readings"
    if processes:
        top = processes[0]
        yield f"high water   {megabytes(top['hwm_bytes'])} in one process ({top['name']}), by the kernel, exact"
    sampler = record["sampler"]
    yield f"sampler      {sampler['samples']} samples, {sampler['duty_cycle']:.2%} of one core"
