"""Cases of the shipped configs, run as scripts."""

import os
import subprocess
import sys

from ..conftest import ROOT
from ..workloads.tokens import read_events


def run_case(folder, case, *words, python=sys.executable, **variables):
    """Run a case in a folder. Returns its events, or none if it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"BEYOND_RAM_EVENTS": str(folder / "events"), **variables}
    command = [python, ROOT / "cases/workflow" / case, *words]
    status = subprocess.run(command, cwd=folder, env=environment, check=False, timeout=300).returncode
    return [] if status else read_events(folder / "events")
