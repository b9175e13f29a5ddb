"""Calibration programs, and the expected value of every column.

Each program allocates a known number of bytes: pages of its own mapping, each touched. Every check is a difference: the
peak of a phase minus the reading at its start. Interpreter and libraries cancel out.
"""

import csv
import json
import mmap
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...run_record import RunRecord
from .. import machine
from ..watcher import WatchOptions, watch

PROGRAMS = Path(__file__).parent / "programs"
# The programs import `common`, and the file `phases` of the package.
_IMPORTS = f"import runpy, sys; sys.path[:0] = [{str(PROGRAMS)!r}]; sys.path.append({str(Path(__file__).parents[2])!r})"
MB = 1_000_000
# PR_SET_THP_DISABLE, which children inherit: khugepaged may turn the interpreter's own memory into huge pages at any
# time, up to 2 MB more in each process.
_NO_HUGE_PAGES = "import ctypes; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); " if sys.platform == "linux" else ""
_READING = "counters per processor lag by up to 64 pages each; the interpreter moves by 0.1 MB"
_MAPPED = "; before Linux 6.2 a process tells of its pages after 64 faults, each of which may map 16"
_PSS = "pages that two processes share for a moment; the interpreter's own copies in every worker"
_KERNEL = "page tables (0.2 %) and charges in batches of 64 pages per processor count too"


@dataclass(frozen=True)
class Check:
    """A reading and its true value, in bytes unless noted."""

    what: str
    truth: float
    reading: float | None
    tolerance: float
    why: str
    """The reason for the tolerance."""

    @property
    def error(self) -> float | None:
        return None if self.reading is None else self.reading - self.truth

    @property
    def within(self) -> bool:
        return self.error is not None and abs(self.error) <= self.tolerance


@dataclass
class CalibrationRun:
    """A measured calibration program."""

    record: RunRecord
    events: list[dict[str, Any]]
    samples: list[dict[str, float]]

    def start(self, phase: str) -> dict[str, Any]:
        """The readings of the tree at the start of a phase."""
        begun = (event for event in self.events if event["event"] == "phase" and event.get("phase") == phase)
        return dict(next(begun, {}).get("tree", {}))

    def peak(self, phase: str) -> dict[str, Any]:
        return next((dict(span) for span in self.record["phases"] if span["phase"] == phase), {})

    def grown(self, column: str, phase: str = "filling") -> float | None:
        """The peak of a phase minus the reading at its start, in bytes."""
        before = "rss_bytes" if column == "hwm_bytes" else column.replace("anon_upper_bound", "anon")
        start, peak = self.start(phase).get(before), self.peak(phase).get(column)
        return None if start is None or peak is None else peak - start

    def between(self, column: str, one: str = "filling", other: str = "full") -> float | None:
        """The reading at the start of one phase subtracted from that at the start of another."""
        first, second = self.start(one).get(column), self.start(other).get(column)
        return None if first is None or second is None else second - first


@dataclass(frozen=True)
class Calibration:
    name: str
    program: str
    arguments: Sequence[str]
    checks: Callable[[CalibrationRun], list[Check]]
    follow: bool = False
    not_run: Callable[[], str | None] = field(default=lambda: None)


@dataclass(frozen=True)
class CalibrationResult:
    name: str
    checks: list[Check]
    not_run: str | None = None
    record: RunRecord | None = None

    @property
    def ok(self) -> bool:
        return all(check.within for check in self.checks)


def measure(case: Calibration, interval_ms: int = 20) -> CalibrationResult:
    """Run one calibration program under the watcher and compare its readings with the truth."""
    if reason := case.not_run():
        return CalibrationResult(case.name, [], reason)
    run = run_program(case.program, case.arguments, WatchOptions(interval_ms=interval_ms, follow=case.follow))
    if run.record["exit_status"] != 0:
        signal, status = run.record["signal"], run.record["exit_status"]
        return CalibrationResult(case.name, [Check("exit status", 0, status, 0, f"ended by {signal or 'itself'}")])
    return CalibrationResult(case.name, [*case.checks(run), _adds_up(run)], record=run.record)


def command(program: str, arguments: Sequence[str], folder: Path, python: Path | str = sys.executable) -> list[str]:
    """The command line of a calibration program. `{folder}` in the arguments becomes a folder for its files."""
    words = [word.replace("{folder}", str(folder)) for word in arguments]
    start = "" if program == "huge" else _NO_HUGE_PAGES
    start += f"{_IMPORTS}; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    return [str(python), "-I", "-S", "-B", "-c", start, str(PROGRAMS / f"{program}.py"), *words]


def run_program(program: str, arguments: Sequence[str], options: WatchOptions | None = None) -> CalibrationRun:
    with tempfile.TemporaryDirectory(prefix="beyond-ram-calibration-", dir=_disk()) as folder:
        out = Path(folder, "out")
        record = watch(command(program, arguments, Path(folder)), out, options)
        events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
        with (out / "samples.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        samples = [{name: float(value) for name, value in one.items() if value and name != "phase"} for one in lines]
        return CalibrationRun(record, events, samples)


def _disk() -> str | None:
    """A folder on a disk if /tmp is in memory, where a mapped file is shared memory; None if /tmp is on a disk."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    in_memory = [at for at, kind in mounts if kind in ("tmpfs", "ramfs")]
    return "/var/tmp" if tempfile.gettempdir() in in_memory else None


def _near(truth: float) -> float:
    return max(0.005 * truth, 1 * MB)


def _size(megabytes: float, page: int = mmap.PAGESIZE) -> int:
    return round(megabytes * MB / page) * page


def _grown(run: CalibrationRun, what: str, truth: float, column: str, phase: str = "filling") -> Check:
    return Check(what, truth, run.grown(column, phase), _near(truth), _READING)


def _late(pages: int, tasks: int) -> int:
    """Bytes that a kernel before 6.2 may not have counted yet: each task reports its pages after 64 faults."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    return 64 * pages * mmap.PAGESIZE * tasks if release < (6, 2) else 0


def _mapped(what: str, truth: float, reading: float | None, processes: int = 1) -> Check:
    """The tolerance of mapped pages: a fault may map 16."""
    late = _late(16, processes)
    return Check(what, truth, reading, max(_near(truth), late), _READING + (_MAPPED if late else ""))


def _between(run: CalibrationRun, what: str, truth: float, column: str, share: float = 0.02) -> Check:
    return Check(what, truth, run.between(column), max(share * truth, 1 * MB), _PSS)


def _group(run: CalibrationRun, truth: float, phase: str = "filling") -> list[Check]:
    """The growth of the control group, if its peak can be reset."""
    before, after = run.record["phases"][0].get("cgroup_bytes"), run.peak(phase).get("cgroup_bytes")
    if before is None or after is None:
        return []
    return [Check("cgroup peak grows", truth, after - before, max(0.02 * truth, 4 * MB), _KERNEL)]


def _adds_up(run: CalibrationRun) -> Check:
    off = sum(s["rss_bytes"] != s["anon_bytes"] + s["file_bytes"] + s["shmem_bytes"] for s in run.samples)
    return Check("samples whose parts are not the whole", 0, off, 0, "rss = anon + file + shmem in every line")


def _anonymous(run: CalibrationRun) -> list[Check]:
    size = _size(200)
    return [
        _grown(run, "anonymous grows", size, "anon_bytes"),
        _grown(run, "high water grows", size, "hwm_bytes"),
        _grown(run, "file grows", 0, "file_bytes"),
        _grown(run, "shared grows", 0, "shmem_bytes"),
        _between(run, "PSS grows", size, "pss_bytes", 0.005),
        _between(run, "USS grows", size, "uss_bytes", 0.005),
        Check("anonymous given back", size, run.between("anon_bytes", "after", "full"), _near(size), _READING),
        *_group(run, size),
    ]


def _file(run: CalibrationRun) -> list[Check]:
    size = _size(200)
    why = "readahead of other files, and the interpreter's own"
    return [
        _mapped("file grows", size, run.grown("file_bytes")),
        _grown(run, "anonymous grows", 0, "anon_bytes"),
        _mapped("high water grows", size, run.grown("hwm_bytes")),
        _between(run, "PSS grows", size, "pss_bytes", 0.005),
        _mapped("file given back", size, run.between("file_bytes", "after", "full")),
        Check("bytes read from disk", size, run.between("read_bytes"), 0.02 * size, why),
    ]


def _shared(run: CalibrationRun) -> list[Check]:
    size, workers = _size(100), 8
    return [
        _between(run, "PSS grows: once, over 8 workers", size, "pss_bytes"),
        _between(run, "shared part of PSS grows: once", size, "pss_shmem_bytes"),
        Check("highest reading of PSS, at any moment", size, _highest_pss(run), max(0.02 * size, MB), _PSS),
        _mapped("summed RSS grows: 9 times", 9 * size, run.grown("rss_bytes"), workers + 1),
        _mapped("shared grows: 9 times", 9 * size, run.grown("shmem_bytes"), workers + 1),
        _between(run, "USS grows: nothing is private", 0, "uss_bytes"),
        Check("anonymous grows", 0, run.grown("anon_bytes"), (workers + 1) * 0.2 * MB, "0.2 MB of interpreter in each"),
        *_group(run, size),
    ]


def _highest_pss(run: CalibrationRun) -> float | None:
    """The largest reading of PSS less the last one before the memory was filled."""
    before, highest = run.start("filling").get("pss_bytes"), run.record["peak"]["pss_bytes"]
    return None if before is None or highest is None else highest - before


def _copied(run: CalibrationRun) -> list[Check]:
    size, workers = _size(50), 4
    return [
        _between(run, "PSS grows: a copy in each of 4 workers", workers * size, "pss_bytes"),
        _between(run, "USS grows: 5 copies, 0 private before", (workers + 1) * size, "uss_bytes"),
        Check(
            "summed RSS sees nothing",
            0,
            run.grown("rss_bytes"),
            max((workers + 1) * 0.4 * MB, _late(16, workers + 1)),
            "interpreter in each",
        ),
        *_group(run, workers * size),
    ]


def _huge(run: CalibrationRun) -> list[Check]:
    size = _size(100, 2 << 20)
    return [
        _grown(run, "anonymous grows: whole huge pages", size, "anon_bytes"),
        _grown(run, "high water grows", size, "hwm_bytes"),
        _between(run, "PSS grows", size, "pss_bytes", 0.005),
    ]


def _spikes(run: CalibrationRun) -> list[Check]:
    size = _size(20)
    marks = [run.grown("hwm_bytes", f"spike {n}") for n in range(25)]
    sizes = [size for size in marks if size is not None]
    anon = [run.grown("anon_upper_bound_bytes", f"spike {n}") for n in range(25)]
    return [
        Check("spikes in the high water of their phase", 25, _count(marks, size), 0, "none may be missed"),
        Check("spikes in the bound of anonymous", 25, _count(anon, size), 0, "none may be missed"),
        Check("the smallest spike", size, min(sizes, default=None), _near(size), _READING),
        Check("the largest spike", size, max(sizes, default=None), _near(size), _READING),
    ]


def _count(values: Sequence[float | None], truth: float) -> int:
    return sum(value is not None and abs(value - truth) <= _near(truth) for value in values)


def _outlives(run: CalibrationRun) -> list[Check]:
    size = _size(100)
    return [
        _grown(run, "anonymous grows, parent gone", size, "anon_bytes"),
        _grown(run, "high water grows", size, "hwm_bytes"),
        Check("processes left running", 0, len(run.record["left_running"]), 0, "it was followed to its end"),
    ]


def _short(run: CalibrationRun) -> list[Check]:
    truth = next((event for event in run.events if event["event"] == "truth"), {})
    marks = run.record["peak"]["hwm_bytes"]
    why = "start and end of the interpreter; clock ticks"
    checks = [Check("CPU seconds", truth["cpu_s"], run.record["cpu_s"], 0.15, why)]
    size, processes = truth["one_process_bytes"], truth["children"] + 1
    if marks["exits_by_kernel"]:
        high = max(run.peak("filling").get("hwm_bytes", 0), 0)
        checks += [
            Check(
                f"processes seen, of {processes}",
                processes,
                marks["processes_seen"],
                0,
                "the kernel tells of every end",
            ),
            Check("high water of one child", size, high, _near(size), _READING),
        ]
    one, why = _size(20), "a child that ends while its PSS is read keeps its memory until then, beside the next child"
    return checks + [
        replace(check, truth=1.5 * one, tolerance=0.5 * one + check.tolerance, why=why) for check in _group(run, one)
    ]


def _execs(run: CalibrationRun) -> list[Check]:
    return [
        _grown(run, "first program: anonymous grows", _size(150), "anon_bytes", "filling first"),
        _grown(run, "first program: high water grows", _size(150), "hwm_bytes", "filling first"),
        _grown(run, "second program: anonymous grows", _size(80), "anon_bytes", "filling"),
        _grown(run, "second program: high water grows", _size(80), "hwm_bytes", "filling"),
        Check("processes at once", 1, run.record["peak"]["processes"], 0, "the same process"),
    ]


def _threads(run: CalibrationRun) -> list[Check]:
    size = 8 * _size(200 / 8)
    # glibc gives every thread an arena; the first few pages of each are touched.
    within = _near(size) + 1 * MB + _late(1, 8)
    return [
        Check("anonymous grows, once", size, run.grown("anon_bytes"), within, _READING + "; 8 stacks"),
        Check("high water grows", size, run.grown("hwm_bytes"), within, _READING + "; 8 stacks"),
        Check("processes at once", 1, run.record["peak"]["processes"], 0, "threads are no processes"),
    ]


def _swapped(run: CalibrationRun) -> list[Check]:
    size = _size(100)
    return [
        Check("swap grows", size, run.grown("swap_bytes"), 0.05 * size, "the kernel may keep a few pages"),
        Check("anonymous leaves", size, run.between("anon_bytes", "full", "filling"), 0.05 * size, "the same"),
    ]


def _no_swap() -> str | None:
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
    return None if fields["SwapTotal"].split()[0] != "0" else "this machine has no swap"


def _no_thp() -> str | None:
    reasons = {None: "this kernel has no transparent huge pages", "never": "transparent huge pages are switched off"}
    return reasons.get(machine.huge_pages())


THEN = f"{_IMPORTS}; sys.argv = ['anonymous.py', sys.argv[1]]; "
THEN += f"runpy.run_path({str(PROGRAMS / 'anonymous.py')!r}, run_name='__main__')"

CASES = (
    Calibration("anonymous memory", "anonymous", ["200"], _anonymous),
    Calibration("file, mapped and read", "file", ["200", "{folder}"], _file),
    Calibration("shared by 8 workers", "shared", ["100", "8"], _shared),
    Calibration("copy on write in 4 workers", "copied", ["50", "4"], _copied),
    Calibration("transparent huge pages", "huge", ["100"], _huge, not_run=_no_thp),
    Calibration("25 spikes of 5 to 50 ms", "spikes", ["20", "25"], _spikes),
    Calibration("a child that outlives its parent", "outlives", ["100"], _outlives, follow=True),
    Calibration("80 short-lived children", "short", ["20", "80"], _short),
    Calibration("a program that execs another", "execs", ["150", "80", THEN], _execs),
    Calibration("8 threads", "threads", ["200"], _threads),
    Calibration("swap", "swapped", ["100"], _swapped, not_run=_no_swap),
)
