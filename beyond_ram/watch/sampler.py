"""Sampling of a process tree, from outside, into samples.csv."""

import csv
import resource
import time
from pathlib import Path
from typing import Any, TextIO

from . import procfs

COLUMNS = ["t_s", "phase", "processes", "rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes"]
COLUMNS += ["pss_bytes", "uss_bytes", "cpu_s", "read_bytes", "written_bytes"]
# PSS and USS cost a walk over the page tables, under the lock of the process's address space. They are read at phase
# marks, and between them only while their cost stays below this share of the elapsed time.
PROPORTIONAL_BUDGET = 0.005
# Who is in the tree, CPU time and storage cost more to read than memory and change more slowly: they are read this
# often at most. A process that lives for less may be missed, however often memory is read.
TREE_INTERVAL_S = 0.02
# While memory rises close to the highest seen, a peak is being made: it is read this many times as often.
HASTE = 5
HASTE_FROM = 0.9


class Sampler:
    """Reads all processes below one process and writes a line a sample.

    The watched command is a child of this process, which is a subreaper: whatever daemonises stays below it.
    """

    def __init__(self, path: Path, start_s: float, root: int) -> None:
        self.start_s, self.root = start_s, root
        self.phase = ""
        self.peaking = False
        self.samples = 0
        self.peak: dict[str, int | None] = dict.fromkeys(("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes"))
        self.peak_pss_bytes: int | None = None
        self.processes: dict[int, dict[str, Any]] = {}
        self._pids: list[int] = []
        self._last_tree_s = 0.0
        self._last_rss_bytes = 0
        self._proportional_cost_s = 0.0
        self._last_proportional_s = 0.0
        self._file: TextIO = path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def close(self) -> None:
        self._file.close()

    def sample(self, proportional: bool = False) -> dict[str, Any] | None:
        """Read the tree once, write the line and return it; None when no process could be read.

        `proportional` asks for everything, PSS and USS too, whatever is due.
        """
        now = time.monotonic()
        whole = proportional or now - self._last_tree_s >= TREE_INTERVAL_S
        if whole:
            self._pids, self._last_tree_s = procfs.descendants(self.root), now
        readings = {pid: reading for pid in self._pids if (reading := procfs.memory(pid))}
        if not readings:
            return None
        row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
        row |= {"t_s": round(now - self.start_s, 6), "phase": self.phase, "processes": len(readings)}
        for kind in ("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes"):
            row[kind] = sum(getattr(reading, kind) for reading in readings.values())
        if whole:
            self._read_counters(row)
        if proportional or self._proportional_is_due(now):
            self._read_proportional(row, readings)
        self._note(row, readings)
        self._writer.writerow(row.values())
        self.samples += 1
        return row

    def _read_counters(self, row: dict[str, Any]) -> None:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = [seconds for pid in self._pids if (seconds := procfs.cpu_s(pid)) is not None]
        row["cpu_s"] = round(sum(cpu) + ended.ru_utime + ended.ru_stime, 3)
        storage = [pair for pid in self._pids if (pair := procfs.storage(pid))]
        if storage:
            row["read_bytes"], row["written_bytes"] = (sum(column) for column in zip(*storage, strict=True))

    def _proportional_is_due(self, now: float) -> bool:
        spent_share = self._proportional_cost_s / max(now - self.start_s, 1e-9)
        return spent_share < PROPORTIONAL_BUDGET and now - self._last_proportional_s >= 0.25

    def _read_proportional(self, row: dict[str, Any], readings: dict[int, procfs.Memory]) -> None:
        began = time.monotonic()
        pairs = [procfs.proportional(pid) for pid in readings]
        self._last_proportional_s = time.monotonic()
        self._proportional_cost_s += self._last_proportional_s - began
        if all(pairs):
            row["pss_bytes"], row["uss_bytes"] = (sum(column) for column in zip(*pairs, strict=True))
            self.peak_pss_bytes = max(self.peak_pss_bytes or 0, row["pss_bytes"])

    def _note(self, row: dict[str, Any], readings: dict[int, procfs.Memory]) -> None:
        peak_bytes = self.peak["rss_bytes"] or 0
        self.peaking = row["rss_bytes"] > max(self._last_rss_bytes, HASTE_FROM * peak_bytes)
        self._last_rss_bytes = row["rss_bytes"]
        for kind in self.peak:
            self.peak[kind] = max(self.peak[kind] or 0, row[kind])
        for pid, reading in readings.items():
            known = self.processes.setdefault(pid, {"pid": pid, "name": "", "hwm_bytes": 0})
            if not known["name"] or known["hwm_bytes"] == 0:
                known["name"] = procfs.name(pid)
            known["hwm_bytes"] = max(known["hwm_bytes"], reading.hwm_bytes)
