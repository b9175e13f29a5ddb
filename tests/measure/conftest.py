"""Runs of this interpreter, as of a cell of the stack `current`."""

import sys

from beyond_ram.measure.cell import Setting, measure
from beyond_ram.records import cell_runs

from ..conftest import ROOT

# What programs import that name their events.
EVENTS = f"import sys; sys.path.insert(0, {str(ROOT / 'scripts' / 'workloads')!r}); import events"


def setting_of(job, folder):
    return Setting(job, sys.executable, ROOT / "envs" / "current.txt", folder / "private")


def measured(job, folder):
    """The record of a run."""
    measure(setting_of(job, folder), folder / "runs")
    return cell_runs.run(folder / "runs" / job.path)[0]
