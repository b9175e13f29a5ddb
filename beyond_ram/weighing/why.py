"""Why a script holds memory at its end: a run of its own, in which what it holds is released. It is never compared."""

from pathlib import Path
from typing import Any

from ..experiment.workloads.base import PROGRAMS
from ..files import read_json, write
from ..watch import write_record
from .cell import Setting, WeighingError, check_end, weighed
from .private import private_folder
from .scripts import PROJECT, apart, end_of

_PROGRAM = str(PROJECT / PROGRAMS / "why.py")
# As the program writes it.
_RESULT, _LAST = "why.json", "malloc_bytes_more"
# memray sees each object only where Python takes it from malloc.
_MEMRAY = {"PYTHONMALLOC": "malloc"}


def explain(setting: Setting, out: Path, timeout_s: float, memray: bool = False) -> dict[str, Any]:
    """Run the script and release what it holds at its end; the result of the program, with the peak of the run.

    `memray`: with the call sites of what stayed. Raises WeighingError where the run has no result.
    """
    job = setting.job.but(program=_PROGRAM, arguments=(*setting.job.arguments, *(["--memray"] if memray else [])))
    setting = apart(Setting(job, setting.python, setting.lock, setting.work))
    out.mkdir(parents=True, exist_ok=True)
    with private_folder(setting.work, job.path) as work:
        record = weighed(setting, work, out, timeout_s=timeout_s, environment=_MEMRAY if memray else {})
        write(out / "stderr.txt", end_of(work / "stderr"))
        write_record(record, out)
        check_end(job, record)
        path = work / _RESULT
        if not path.is_file():
            raise WeighingError(f"cannot say: the script ended early, {_ending(record)}")
        result: dict[str, Any] = read_json(path, "steps")
    if _LAST not in result:
        result["ended_early"] = _ending(record)
    return result | {"peak_bytes": record["peak"]["anon_bytes"]}


def _ending(record: dict[str, Any]) -> str:
    return str(record["signal"] or f"{record['outcome']}, exit status {record['exit_status']}")
