"""The compared tools: a function each that runs a command under the tool and returns every number it reports.

Sizes are in bytes, by the tool's own names for them. A function raises NotRunError with the reason if the tool cannot
run here. Standard library only.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

MIB = 1 << 20
# psrecord and mprof poll at an interval; beyond-ram is compared at the same one.
INTERVAL_S = 0.05
# memray leaves a file for each process. A hundred children are all alike, so some of them suffice.
_FILES_READ = 12
# Prints peaks of memray's files. A child that ends with _exit leaves an incomplete file.
_PEAKS = """import sys, memray
for file in sys.argv[1:]:
    try:
        print(memray.FileReader(file).metadata.peak_memory)
    except OSError:
        pass
"""

Readings = dict[str, float]
Tool = Callable[[Sequence[str], Path, Path], Readings]


class NotRunError(Exception):
    """The tool could not be run; the text is the reason."""


def beyond_ram(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    out = folder / "out"
    interval = ["--interval-ms", str(round(INTERVAL_S * 1000))]
    _run([sys.executable, "-m", "beyond_ram", "watch", "--follow", *interval, "--out", out, "--", *command])
    peak = json.loads((out / "run.json").read_text())["peak"]
    numbers = {
        "high water": peak["witnesses"][1]["bytes"],
        "high water, at once": peak["hwm_bytes"]["concurrent_upper_bound_bytes"],
        "anonymous": peak["anon_bytes"],
        "PSS": peak["pss_bytes"],
    }
    return {name: value for name, value in numbers.items() if value is not None}


def psrecord(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    log = folder / "log"
    line = " ".join(f"'{word}'" if "'" not in word else f'"{word}"' for word in command)
    _run([stack / "bin" / "psrecord", line, "--interval", str(INTERVAL_S), "--include-children", "--log", log])
    rows = [text.split() for text in log.read_text().splitlines() if not text.startswith("#")]
    return {"Real (MB)": max((float(row[2]) for row in rows), default=0.0) * MIB}


def mprof(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    data = folder / "data"
    _run([stack / "bin" / "mprof", "run", "--include-children", "-T", str(INTERVAL_S), "-o", data, *command])
    sizes = [float(text.split()[1]) for text in data.read_text().splitlines() if text.startswith("MEM")]
    return {"MEM": max(sizes, default=0.0) * MIB}


def memray(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    # memray runs a script inside its own interpreter: the program in the command line.
    script = next(at for at, word in enumerate(command) if word.endswith(".py"))
    program = [stack / "bin" / "python", "-m", "memray"]
    _run([*program, "run", "--quiet", "--follow-fork", "-o", folder / "data", *command[script:]])
    files = sorted(folder.glob("data*"))[:_FILES_READ]
    peaks = [int(line) for line in _run([stack / "bin" / "python", "-c", _PEAKS, *files]).split()]
    if not peaks:
        raise NotRunError("it left no file that it can read")
    return {"peak memory, one process": max(peaks), "peak memory, summed": sum(peaks)}


def gnu_time(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    output = _run(["/usr/bin/time", "-v", *command])
    match = re.search(r"Maximum resident set size \(kbytes\): (\d+)", output)
    if not match:
        raise NotRunError("it is not GNU time")
    return {"Maximum resident set size": int(match.group(1)) * 1024}


def snakemake_benchmark(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    words = " ".join(f'"{word}"' for word in command).replace("{", "{{").replace("}", "}}")
    (folder / "Snakefile").write_text(f'rule all:\n    benchmark: "b.tsv"\n    shell: {words!r}\n')
    _run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--directory", folder, "--snakefile", folder / "Snakefile"]
    )
    head, values = ((folder / "b.tsv").read_text().splitlines()[at].split("\t") for at in (0, 1))
    row = dict(zip(head, values, strict=True))
    numbers = {
        name: float(row[name]) * MIB for name in ("max_rss", "max_uss", "max_pss") if row[name] not in ("-", "NA")
    }
    if not numbers:
        raise NotRunError("it ended before the first sample")
    return numbers


def benchexec(command: Sequence[str], folder: Path, stack: Path) -> Readings:
    output = _run([stack / "bin" / "runexec", "--no-container", "--output", os.devnull, "--", *command])
    match = re.search(r"^memory=(\d+)B", output, re.MULTILINE)
    if not match:
        raise NotRunError("no memory cgroup that it may use")
    return {"memory": int(match.group(1))}


TOOLS: dict[str, Tool] = {
    "beyond-ram": beyond_ram,
    "psrecord": psrecord,
    "mprof": mprof,
    "memray": memray,
    "/usr/bin/time -v": gnu_time,
    "snakemake benchmark:": snakemake_benchmark,
    "BenchExec": benchexec,
}


def _run(command: Sequence[str | Path]) -> str:
    if not shutil.which(command[0]):
        raise NotRunError(f"{Path(command[0]).name} is not installed")
    words = [str(word) for word in command]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if result.returncode:
        raise NotRunError(
            f"it ended with status {result.returncode}: {(result.stderr.strip() or '?').splitlines()[-1][:120]}"
        )
    return result.stdout + result.stderr
