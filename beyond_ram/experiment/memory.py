"""The memory request of a cell: from its last run, or an estimate."""

from pathlib import Path

from ..advice import advise
from ..files import DamagedError
from . import records
from .paths import Cell

# Memory of two processes of the workflow engine, at the job and at its step, and of the watcher: 244 MB measured.
DRIVER_MB = 350


def request_mb(runs: Path | str, cell: Cell, estimate_mb: int, attempt: int = 1) -> int:
    """The request in megabytes: the advice of the cell's measured run, plus memory of the driver.

    Each attempt doubles it. Any repeat of the cell will do. Without a measured run it is the estimate.
    """
    advised = [
        size for rep in {cell.rep, 1} if (size := _advised_mb(Path(runs, Cell(cell.experiment, cell.axes, rep).path)))
    ]
    needed_mb = max(advised) + DRIVER_MB if advised else estimate_mb
    return int(needed_mb * 2 ** (attempt - 1))


def _advised_mb(run: Path) -> float | None:
    try:
        record = records.record(run)
        return advise(record).ask_bytes / 1e6 if record["peak"].get("rss_bytes") else None
    except (DamagedError, KeyError):
        return None
