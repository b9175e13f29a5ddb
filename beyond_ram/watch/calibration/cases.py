"""Calibration programs, and the expected value of every column.

Each program allocates a known number of bytes: pages of its own mapping, each touched. Every check is a difference: the
peak of a phase minus the reading at its start. Interpreter and libraries cancel out.
"""

import csv
import mmap
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...records import reading
from ...records.run_json import RunRecord
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
_CLOCK = "start and end of the interpreter; clock ticks"
_ENDS = "a child that ends while its PSS is read keeps its memory until then, beside the next child"
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


Expected = Callable[[CalibrationRun], list[Check]]
Reading = Callable[[CalibrationRun], float | None]


@dataclass(frozen=True)
class Calibration:
    name: str
    program: str
    arguments: Sequence[str]
    checks: Sequence[Expected]
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
    checks = [check for one in (*case.checks, _ADDS_UP) for check in one(run)]
    return CalibrationResult(case.name, checks, record=run.record)


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
        with (out / "samples.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        samples = [{name: float(value) for name, value in one.items() if value and name != "phase"} for one in lines]
        return CalibrationRun(record, reading.events(out), samples)


def _disk() -> str | None:
    """A folder on a disk if /tmp is in memory, where a mapped file is shared memory; None if /tmp is on a disk."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    in_memory = [at for at, kind in mounts if kind in ("tmpfs", "ramfs")]
    return "/var/tmp" if tempfile.gettempdir() in in_memory else None


def _near(truth: float) -> float:
    return max(0.005 * truth, 1 * MB)


def _size(megabytes: float, page: int = mmap.PAGESIZE) -> int:
    return round(megabytes * MB / page) * page


def _late(pages: int, tasks: int) -> int:
    """Bytes that a kernel before 6.2 may not have counted yet: each task reports its pages after 64 faults."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    return 64 * pages * mmap.PAGESIZE * tasks if release < (6, 2) else 0


def _reads(what: str, truth: float, reading: Reading, tolerance: float, why: str) -> Expected:
    return lambda run: [Check(what, truth, reading(run), tolerance, why)]


def _grows(what: str, truth: float, column: str, phase: str = "filling", within: float = 0, why: str = "") -> Expected:
    """The growth up to the peak of a phase."""
    return _reads(what, truth, lambda run: run.grown(column, phase), within or _near(truth), why or _READING)


def _mapped(what: str, truth: float, reading: Reading, processes: int = 1) -> Expected:
    """The tolerance of mapped pages: a fault may map 16."""
    late = _late(16, processes)
    return _reads(what, truth, reading, max(_near(truth), late), _READING + (_MAPPED if late else ""))


def _between(what: str, truth: float, column: str, share: float = 0.02) -> Expected:
    """The growth from the start of phase `filling` to that of `full`."""
    return _reads(what, truth, lambda run: run.between(column), max(share * truth, 1 * MB), _PSS)


def _group(truth: float) -> Expected:
    """The growth of the control group, if its peak can be reset."""

    def check(run: CalibrationRun) -> list[Check]:
        before, after = run.record["phases"][0].get("cgroup_bytes"), run.peak("filling").get("cgroup_bytes")
        if before is None or after is None:
            return []
        return [Check("cgroup peak grows", truth, after - before, max(0.02 * truth, 4 * MB), _KERNEL)]

    return check


def _given_back(column: str, one: str = "after", other: str = "full") -> Reading:
    return lambda run: run.between(column, one, other)


def _off(run: CalibrationRun) -> int:
    return sum(s["rss_bytes"] != s["anon_bytes"] + s["file_bytes"] + s["shmem_bytes"] for s in run.samples)


_ADDS_UP = _reads("samples whose parts are not the whole", 0, _off, 0, "rss = anon + file + shmem in every line")


def _highest_pss(run: CalibrationRun) -> float | None:
    """The largest reading of PSS less the last one before the memory was filled."""
    before, highest = run.start("filling").get("pss_bytes"), run.record["peak"]["pss_bytes"]
    return None if before is None or highest is None else highest - before


def _spikes(run: CalibrationRun) -> list[Check]:
    size, why = _size(20), "none may be missed"
    columns = ("hwm_bytes", "anon_upper_bound_bytes")
    marks, anon = ([run.grown(column, f"spike {n}") for n in range(25)] for column in columns)
    near = [sum(one is not None and abs(one - size) <= _near(size) for one in sizes) for sizes in (marks, anon)]
    sizes = [one for one in marks if one is not None]
    return [
        Check("spikes in the high water of their phase", 25, near[0], 0, why),
        Check("spikes in the bound of anonymous", 25, near[1], 0, why),
        Check("the smallest spike", size, min(sizes, default=None), _near(size), _READING),
        Check("the largest spike", size, max(sizes, default=None), _near(size), _READING),
    ]


def _short(run: CalibrationRun) -> list[Check]:
    truth = next((event for event in run.events if event["event"] == "truth"), {})
    marks, size, processes = run.record["peak"]["hwm_bytes"], truth["one_process_bytes"], truth["children"] + 1
    checks = [Check("CPU seconds", truth["cpu_s"], run.record["cpu_s"], 0.15, _CLOCK)]
    if marks["exits_by_kernel"]:
        seen, high = marks["processes_seen"], max(run.peak("filling").get("hwm_bytes", 0), 0)
        checks.append(Check(f"processes seen, of {processes}", processes, seen, 0, "the kernel tells of every end"))
        checks.append(Check("high water of one child", size, high, _near(size), _READING))
    one, half = _size(20), 0.5 * _size(20)
    wide = [replace(check, truth=3 * half, tolerance=half + check.tolerance, why=_ENDS) for check in _group(one)(run)]
    return checks + wide


def _no_swap() -> str | None:
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
    return None if fields["SwapTotal"].split()[0] != "0" else "this machine has no swap"


def _no_thp() -> str | None:
    reasons = {None: "this kernel has no transparent huge pages", "never": "transparent huge pages are switched off"}
    return reasons.get(machine.huge_pages())


THEN = f"{_IMPORTS}; sys.argv = ['anonymous.py', sys.argv[1]]; "
THEN += f"runpy.run_path({str(PROGRAMS / 'anonymous.py')!r}, run_name='__main__')"

_200, _100, _50 = _size(200), _size(100), _size(50)
_HUGE, _THREADS = _size(100, 2 << 20), 8 * _size(200 / 8)
# glibc gives every thread an arena; the first few pages of each are touched.
_STACKS = (_near(_THREADS) + 1 * MB + _late(1, 8), f"{_READING}; 8 stacks")
# fmt: off
CASES = (
    Calibration("anonymous memory", "anonymous", ["200"], [
        _grows("anonymous grows", _200, "anon_bytes"),
        _grows("high water grows", _200, "hwm_bytes"),
        _grows("file grows", 0, "file_bytes"),
        _grows("shared grows", 0, "shmem_bytes"),
        _between("PSS grows", _200, "pss_bytes", 0.005),
        _between("USS grows", _200, "uss_bytes", 0.005),
        _reads("anonymous given back", _200, _given_back("anon_bytes"), _near(_200), _READING),
        _group(_200),
    ]),
    Calibration("file, mapped and read", "file", ["200", "{folder}"], [
        _mapped("file grows", _200, lambda run: run.grown("file_bytes")),
        _grows("anonymous grows", 0, "anon_bytes"),
        _mapped("high water grows", _200, lambda run: run.grown("hwm_bytes")),
        _between("PSS grows", _200, "pss_bytes", 0.005),
        _mapped("file given back", _200, _given_back("file_bytes")),
        _reads("bytes read from disk", _200, lambda run: run.between("read_bytes"), 0.02 * _200,
               "readahead of other files, and the interpreter's own"),
    ]),
    Calibration("shared by 8 workers", "shared", ["100", "8"], [
        _between("PSS grows: once, over 8 workers", _100, "pss_bytes"),
        _between("shared part of PSS grows: once", _100, "pss_shmem_bytes"),
        _reads("highest reading of PSS, at any moment", _100, _highest_pss, max(0.02 * _100, MB), _PSS),
        _mapped("summed RSS grows: 9 times", 9 * _100, lambda run: run.grown("rss_bytes"), 9),
        _mapped("shared grows: 9 times", 9 * _100, lambda run: run.grown("shmem_bytes"), 9),
        _between("USS grows: nothing is private", 0, "uss_bytes"),
        _grows("anonymous grows", 0, "anon_bytes", "filling", 9 * 0.2 * MB, "0.2 MB of interpreter in each"),
        _group(_100),
    ]),
    Calibration("copy on write in 4 workers", "copied", ["50", "4"], [
        _between("PSS grows: a copy in each of 4 workers", 4 * _50, "pss_bytes"),
        _between("USS grows: 5 copies, 0 private before", 5 * _50, "uss_bytes"),
        _grows("summed RSS sees nothing", 0, "rss_bytes", within=max(5 * 0.4 * MB, _late(16, 5)), why="interpreters"),
        _group(4 * _50),
    ]),
    Calibration("transparent huge pages", "huge", ["100"], [
        _grows("anonymous grows: whole huge pages", _HUGE, "anon_bytes"),
        _grows("high water grows", _HUGE, "hwm_bytes"),
        _between("PSS grows", _HUGE, "pss_bytes", 0.005),
    ], not_run=_no_thp),
    Calibration("25 spikes of 5 to 50 ms", "spikes", ["20", "25"], [_spikes]),
    Calibration("a child that outlives its parent", "outlives", ["100"], [
        _grows("anonymous grows, parent gone", _100, "anon_bytes"),
        _grows("high water grows", _100, "hwm_bytes"),
        _reads("processes left running", 0, lambda run: len(run.record["left_running"]), 0, "followed to its end"),
    ], follow=True),
    Calibration("80 short-lived children", "short", ["20", "80"], [_short]),
    Calibration("a program that execs another", "execs", ["150", "80", THEN], [
        _grows("first program: anonymous grows", _size(150), "anon_bytes", "filling first"),
        _grows("first program: high water grows", _size(150), "hwm_bytes", "filling first"),
        _grows("second program: anonymous grows", _size(80), "anon_bytes"),
        _grows("second program: high water grows", _size(80), "hwm_bytes"),
        _reads("processes at once", 1, lambda run: run.record["peak"]["processes"], 0, "the same process"),
    ]),
    Calibration("8 threads", "threads", ["200"], [
        _grows("anonymous grows, once", _THREADS, "anon_bytes", "filling", *_STACKS),
        _grows("high water grows", _THREADS, "hwm_bytes", "filling", *_STACKS),
        _reads("processes at once", 1, lambda run: run.record["peak"]["processes"], 0, "threads are no processes"),
    ]),
    Calibration("swap", "swapped", ["100"], [
        _grows("swap grows", _100, "swap_bytes", "filling", 0.05 * _100, "the kernel may keep a few pages"),
        _reads("anonymous leaves", _100, _given_back("anon_bytes", "full", "filling"), 0.05 * _100, "the same"),
    ], not_run=_no_swap),
)
# fmt: on
