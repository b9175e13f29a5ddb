"""What a call with `--keep-going` could not make, and the calls after it that make tables and report of the rest.

Snakemake makes nothing of which an input is missing, so one failed run would cost every table of its experiment. A call
that has failed is therefore followed by another, which does without the runs that are lost; and where a table or figure
cannot be made either, by one that does without that.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

from snakemake.logging import logger

from .files import write

# Names the file that holds what is lost, for the calls that follow and their jobs.
_VARIABLE = "BEYOND_RAM_LOST"
# So many are named on the terminal; the report names all.
_NAMED = 5


def paths() -> frozenset[str]:
    """The files that this call does without; none where it follows no other."""
    file = os.environ.get(_VARIABLE)
    return frozenset(json.loads(Path(file).read_text(encoding="utf-8"))) if file else frozenset()


def go_on(workflow: Any, file: Path, runs: str, made: tuple[str, ...]) -> None:
    """Follow a call that has failed by one that does without what it has lost, which is kept in `file`.

    `runs` is the folder of all runs, and `made` those of tables and figures. Nothing follows a call that has not been
    told to keep going, that was told to make again what is there, or that has asked for nothing but what is lost.
    """
    asked = workflow.dag_settings
    if not workflow.execution_settings.keep_going or asked.forceall or asked.forcerun or asked.forcetargets:
        return
    known, dag = paths(), workflow.dag
    unmade = {str(path) for job in dag.jobs if dag.needrun(job) and not dag.finished(job) for path in job.output}
    lost = {path for path in unmade if path.startswith(f"{runs}/") and path.endswith("/run.json")} - known
    lost = lost or {path for path in unmade if path.startswith(made)} - known
    left = _but(asked.targets, known | lost)
    if not lost or (asked.targets and not left):
        return
    write(file, json.dumps(sorted(known | lost)))
    logger.info(f"{_said(lost)}; what can be made of the rest is made now")
    # What is lost may stand there, as a target or behind --prioritize, and would be tried again.
    instead = min(left, default=workflow.default_target)
    words = [word if _but([word], known | lost) else instead for word in sys.argv[1:]]
    command = [sys.executable, "-m", "snakemake", *words, "--nolock"]  # the lock is this call's
    subprocess.run(command, env=os.environ | {_VARIABLE: str(file.resolve())}, check=False)
    file.unlink(missing_ok=True)
    if not known:
        logger.error(f"{_said(lost)}; the same call again makes just these, and what depends on them")


def _but(targets: Iterable[str], lost: Set[str]) -> list[str]:
    return [target for target in targets if os.path.relpath(target or ".") not in lost]


def _said(lost: set[str]) -> str:
    names = [path.removesuffix("/run.json") for path in sorted(lost)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} could not be made: {', '.join(names[:_NAMED])}{more}"
