"""Token datasets for the tests of loaders, and the program that reads them."""

import json
import os
from pathlib import Path

from beyond_ram.experiment import tokens
from beyond_ram.experiment.events import faults

from ..conftest import forking, interpreter

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "scripts/workloads"
INSIDE = ROOT / "tests/workloads/inside.py"
AT_ONCE = 4  # runs wait half of their time
# `load` measures rates for a tenth of its time.
LOAD = f"""
import sys
sys.path[0] = {str(WORKLOADS)!r}
import events, load
load.OFTEN_S = 0.0  # an event after each batch
load.WARM_CPU_S /= 10
events.run(load.main)
"""
ROWS = 1_003


# One loader for every way to store rows.
FAMILIES = ["memmap_article", "threads", "hdf5_blocks", "parquet_blocks", "csv_pandas", "webdataset", "lmdb"]
FAMILIES += ["arrayrecord"]
SHARED = [*FAMILIES, "memmap_batched", "hdf5_article", "dask_article"]
"""Loaders whose formats the shared dataset has."""


def stack(name):
    """Return a stack of loaders that has imported torch, which takes seconds of CPU time."""
    return forking(interpreter(name), "numpy", "torch.utils.data")


def run(name, *words):
    """Run a program, or code after `-c`, with a stack, and return its output."""
    done = stack(name).run(*words)
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


def make_dataset(folder, spec, loaders):
    """Make a token dataset in the formats of some loaders."""
    formats = {tokens.format_of(loader, ROOT) for loader in loaders} - {tokens.SOURCE_FORMAT}
    written = folder / "spec.json"
    written.write_text(json.dumps(spec))
    run("loaders", WORKLOADS / "make_tokens.py", "--spec", written, "--out", folder)
    run("loaders", INSIDE, "write", WORKLOADS, folder, *sorted(formats))
    return folder


def generate(folder, loaders):
    """Make a token dataset of generated rows in the formats of some loaders."""
    return make_dataset(folder, {"rows": ROWS, "width": 1024}, loaders)


def run_together(runs):
    """Run programs, some at a time, and return their statuses. A run is its file of events and its command line."""
    running = []
    for number, (events, *words) in enumerate(runs):
        if number >= AT_ONCE:
            running[number - AT_ONCE].wait()
        environment = os.environ | {"BEYOND_RAM_EVENTS": str(events)}
        running.append(stack("loaders").start(*words, env=environment))
    return [fork.wait() for fork in running]


def read_events(path):
    """Read events, which must follow the schema."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert not [fault for event in events for fault in faults(event)]
    return events
