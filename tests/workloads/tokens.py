"""Token datasets for the tests of loaders, and the program that reads them."""

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from beyond_ram.experiment import tokens
from beyond_ram.experiment.events import faults

from ..conftest import interpreter

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "scripts/workloads"
INSIDE = ROOT / "tests/workloads/inside.py"
TOGETHER = ROOT / "tests/workloads/together.py"
STACKS = ("loaders", "loaders-mds")
"""The stacks that write formats. All loaders of both are `end_to_end`."""
ROWS = 1_003


# Of every way to store a row one.
FAMILIES = [
    "memmap_article",
    "threads",
    "ring",
    "hdf5_blocks",
    "parquet_blocks",
    "csv_pandas",
    "webdataset",
    "lmdb",
    "arrayrecord",
]
SHARED = [*FAMILIES, "memmap_batched", "hdf5_article", "dask_article"]
"""Loaders whose formats the shared dataset has."""


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


def made(folder: Path, spec: dict[str, Any], loaders: Iterable[str]) -> Path:
    """A token dataset in the formats of some loaders."""
    formats = {tokens.format_of(loader, ROOT) for loader in loaders} - {tokens.SOURCE_FORMAT}
    written = folder / "spec.json"
    written.write_text(json.dumps(spec))
    run(interpreter("loaders"), WORKLOADS / "make_tokens.py", "--spec", written, "--out", folder)
    for stack in STACKS:
        names = [name for name in sorted(formats) if tokens.writer_stack(name, ROOT) == stack]
        if names:
            run(interpreter(stack), INSIDE, "write", WORKLOADS, folder, *names)
    return folder


def stack_of(loader: str) -> str:
    return tokens.writer_stack(tokens.format_of(loader, ROOT), ROOT)


def loaders_of(stack: str) -> list[str]:
    """The loaders whose format a stack writes."""
    return [name for name in tokens.names_in(tokens.LOADERS, ROOT) if stack_of(name) == stack]


def generated(folder: Path, loaders: Iterable[str]) -> Path:
    """A token dataset of generated rows in the formats of some loaders."""
    return made(folder, {"rows": ROWS, "width": 1024, "vocabulary": 32000, "seed": 1}, loaders)


def load(work: Path, *words: str) -> tuple[int, list[dict[str, Any]]]:
    """The workload itself in a folder that it makes: exit status and events."""
    work.mkdir()
    events = work / "events.jsonl"
    command = ["env", f"BEYOND_RAM_EVENTS={events}", str(interpreter("loaders")), str(WORKLOADS / "load.py")]
    command += ["--work-dir", str(work), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, read(events)


def together(runs: Sequence[Sequence[object]]) -> list[int]:
    """Exit statuses of runs in one process that has imported torch; of each: its file of events, program, and words."""
    asked = json.dumps([[str(word) for word in words] for words in runs])
    command = [str(interpreter("loaders")), str(TOGETHER)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    statuses: list[int] = json.loads(done.stdout.splitlines()[-1])
    return statuses


def read(path: Path) -> list[dict[str, Any]]:
    """Events that follow the schema."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert not [fault for event in events for fault in faults(event)]
    return events
