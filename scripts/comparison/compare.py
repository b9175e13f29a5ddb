"""The reading of each tool for programs of known memory, its error, and its cost.

Every program runs twice under every tool, large and small. The difference is compared, so interpreters and libraries
cancel out. (If the question is the peak of one process, the small one is still larger than its interpreter.) Each row
asks one question. For beyond-ram the row uses the one number that its docs name for it; for another tool it uses the
number nearest to the truth.
"""

import argparse
import mmap
import random
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from tools import TOOLS, NotRunError, Readings

from beyond_ram import tables
from beyond_ram.watch.calibration.cases import THEN, command

MB = 1_000_000


@dataclass(frozen=True)
class Question:
    """A calibration program, the question, and the number of beyond-ram that answers it."""

    program: str
    label: str
    asked: str
    large: Sequence[str]
    small: Sequence[str]
    truth_mb: float
    """How much more memory the large run has than the small one, in MB."""
    answer: str


HIGHEST, ONCE = "resident in one process at its highest", "in memory, each page once"
KEPT = "cannot be reclaimed"
FILES = "{folder}"
QUESTIONS = (
    Question("anonymous", "anonymous", HIGHEST, ["200"], ["1"], 199, "high water"),
    Question("file", "mapped file", KEPT, ["200", FILES], ["1", FILES], 0, "anonymous"),
    Question("shared", "shared by 8 workers", ONCE, ["100", "8"], ["1", "8"], 99, "PSS"),
    Question("copied", "copied in 4 workers", ONCE, ["50", "4"], ["1", "4"], 245, "PSS"),
    Question("huge", "huge pages", HIGHEST, ["100.7", "thp"], ["2.1", "thp"], 47 * 2.097152, "high water"),
    Question("spikes", "25 spikes", HIGHEST, ["20", "25"], ["1", "25"], 19, "high water"),
    Question("outlives", "outliving child", HIGHEST, ["120"], ["20"], 100, "high water"),
    Question("short", "100 short children", HIGHEST, ["40", "100"], ["20", "100"], 20, "high water"),
    Question("execs", "exec", HIGHEST, ["150", "80", THEN], ["1", "1", THEN], 149, "high water"),
    Question("threads", "8 threads", HIGHEST, ["200"], ["1"], 199, "high water"),
)
# For the overhead: work that allocates small objects, as Python programs do.
WORK = "held = []\nfor n in range({}):\n    held.append((n, str(n)))\n    if n % 1000 == 0:\n        held.clear()\n"
REPEATS, ROUNDS = 5, 4_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", type=Path, required=True, help="environment of the stack `profilers`")
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--parquet", type=Path, required=True)
    parser.add_argument("--programs", nargs="*", help="only these programs")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs for the overhead")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of the computation whose overhead is asked for")
    arguments = parser.parse_args()
    stack = arguments.stack.absolute()
    costs = overheads(stack, arguments.repeats, arguments.rounds)
    questions = [q for q in QUESTIONS if not arguments.programs or q.program in arguments.programs]
    rows = [row(question, tool, stack) | costs[tool] for question in questions for tool in TOOLS]
    tables.write(judged(pd.DataFrame(rows)), arguments.csv, arguments.parquet)


def row(question: Question, tool: str, stack: Path) -> dict[str, object]:
    truth = round(question.truth_mb * MB / mmap.PAGESIZE) * mmap.PAGESIZE
    line: dict[str, object] = {"experiment": "comparison", "stack": "profilers", "program": question.program}
    line |= {"label": question.label, "asked": question.asked, "tool": tool, "truth_bytes": truth}
    try:
        large, small = (readings(question.program, words, tool, stack) for words in (question.large, question.small))
        grown = {name: large[name] - small[name] for name in large if name in small}
        if tool == "beyond-ram":
            name, value = question.answer, grown[question.answer]
        else:
            name, value = min(grown.items(), key=lambda entry: abs(entry[1] - truth))
        return line | {"number": name, "reading_bytes": value, "error_bytes": value - truth, "not_run": ""}
    except NotRunError as reason:
        return line | {"number": "", "reading_bytes": None, "error_bytes": None, "not_run": str(reason)}


def readings(program: str, words: Sequence[str], tool: str, stack: Path) -> Readings:
    with tempfile.TemporaryDirectory(prefix="comparison-", dir="/var/tmp") as folder:
        line = command(program, words, Path(folder), python=stack / "bin" / "python")
        return TOOLS[tool](line, Path(folder), stack)


def overheads(stack: Path, repeats: int, rounds: int) -> dict[str, dict[str, float | None]]:
    """The CPU time that a computation takes under each tool, over the CPU time that it takes alone; runs interleave."""
    taken: dict[str, list[float]] = {tool: [] for tool in ("alone", *TOOLS)}
    with tempfile.TemporaryDirectory(prefix="comparison-") as folder:
        work = Path(folder, "work.py")
        work.write_text(WORK.format(rounds))
        line = [str(stack / "bin" / "python"), str(work)]
        for _ in range(repeats):
            for tool in random.sample(list(taken), len(taken)):
                with tempfile.TemporaryDirectory(dir=folder) as scratch:
                    before = _cpu_s()
                    try:
                        if tool == "alone":
                            subprocess.run(line, check=True)
                        else:
                            TOOLS[tool](line, Path(scratch), stack)
                    except NotRunError:
                        continue
                    taken[tool].append(_cpu_s() - before)
    alone = statistics.median(taken["alone"])
    ratios_by_tool: dict[str, dict[str, float | None]] = {}
    for tool, times in taken.items():
        ratios = sorted(time / alone for time in times)
        middle, low, high = (statistics.median(ratios), ratios[0], ratios[-1]) if ratios else (None, None, None)
        ratios_by_tool[tool] = {"cpu_ratio": middle, "cpu_ratio_low": low, "cpu_ratio_high": high, "n": len(ratios)}
    return ratios_by_tool


def judged(table: pd.DataFrame) -> pd.DataFrame:
    """Add whether each reading is within tolerance, and which other tools are closer to the truth than beyond-ram.

    Readings that are both within tolerance count as equally near, because below it the order is noise.
    """
    tolerance = (0.005 * table["truth_bytes"]).clip(lower=1 * MB)
    off = table["error_bytes"].astype(float).abs()
    ours = table["program"].map(
        off[table["tool"] == "beyond-ram"].set_axis(table.loc[table["tool"] == "beyond-ram", "program"])
    )
    nearer = (off < ours - tolerance) | ((off <= tolerance) & (ours > tolerance))
    return table.assign(tolerance_bytes=tolerance, within=off <= tolerance, nearer=nearer)


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
