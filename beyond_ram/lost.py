"""Outputs that a call with `--keep-going` could not make, and further calls that make the rest without them.

Snakemake makes nothing whose input is missing: one failed run of `growth` in config/tiny.yaml would cost 9 of 13
tables, 6 of 12 figures and the report, and one of ten thousand cells all tables of its experiment. A failed call is
therefore followed by another one without the lost runs, and, if further runs, a table or a figure fail, by one without
these too.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Any

from snakemake.logging import logger

from .files import write
from .text import first_of

# The file with the lost paths, for later calls and their jobs.
_VARIABLE = "BEYOND_RAM_LOST"
# Maximum number of names on the terminal. The report has all of them.
_NAMED = 5


def paths() -> frozenset[str]:
    """The lost files that this call leaves out; none in a first call."""
    file = os.environ.get(_VARIABLE)
    return frozenset(json.loads(Path(file).read_text(encoding="utf-8"))) if file else frozenset()


def go_on(workflow: Any, file: Path, kinds: Sequence[re.Pattern[str]]) -> None:
    """Follow a failed call by another one without the lost paths, which are written to `file`.

    Lost are the missing paths of the first of `kinds` that has some. Nothing follows a call without `--keep-going`, a
    call that forces existing outputs, or one whose targets are all lost.
    """
    settings = workflow.dag_settings
    if not workflow.execution_settings.keep_going or settings.forceall or settings.forcerun or settings.forcetargets:
        return
    earlier, dag = paths(), workflow.dag
    unmade = {str(path) for job in dag.jobs if dag.needrun(job) and not dag.finished(job) for path in job.output}
    lost = next(filter(None, (set(filter(kind.fullmatch, unmade - earlier)) for kind in kinds)), set[str]())
    left = _but(settings.targets, earlier | lost)
    if not lost or (settings.targets and not left):
        return
    write(file, json.dumps(sorted(earlier | lost)))
    logger.info(f"{_names(lost)}; continuing without them")
    # A lost path may be a target, or an argument of --prioritize. Snakemake would try it again.
    instead = min(left, default=workflow.default_target)
    words = [word if _but([word], earlier | lost) else instead for word in sys.argv[1:]]
    command = [sys.executable, "-m", "snakemake", *words, "--nolock"]  # this call holds the lock
    subprocess.run(command, env=os.environ | {_VARIABLE: str(file.resolve())}, check=False)
    file.unlink(missing_ok=True)
    if not earlier:
        logger.error(f"{_names(lost)}; the same call again makes only these, and what depends on them")


def _but(targets: Iterable[str], lost: Set[str]) -> list[str]:
    return [target for target in targets if os.path.relpath(target or ".") not in lost]


def _names(lost: set[str]) -> str:
    names = [path.removesuffix("/run.json") for path in sorted(lost)]
    return f"{len(names)} could not be made: {first_of(names, _NAMED)}"
