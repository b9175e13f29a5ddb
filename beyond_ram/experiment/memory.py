"""How much memory to ask a scheduler for: what the cell needed last time, or else an estimate."""

from pathlib import Path

from ..files import DamagedError
from . import records
from .paths import Cell

HEADROOM = 1.25
# The workflow engine twice, at the job and at its step, and the watcher: 244 MB measured.
DRIVER_MB = 350


def request_mb(runs: Path | str, cell: Cell, estimate_mb: int, attempt: int = 1) -> int:
    """Megabytes to ask for: the cell's measured peak with headroom and room for the driver, doubled by each attempt.

    Any repeat of the cell will do. Without a measured run it is the estimate.
    """
    peaks = [
        peak for rep in {cell.rep, 1} if (peak := _measured_mb(Path(runs, Cell(cell.experiment, cell.axes, rep).path)))
    ]
    needed_mb = max(peaks) * HEADROOM + DRIVER_MB if peaks else estimate_mb
    return int(needed_mb * 2 ** (attempt - 1))


def _measured_mb(run: Path) -> float | None:
    try:
        peak_bytes = records.record(run)["peak"].get("rss_bytes")
    except DamagedError:
        return None
    return peak_bytes / 1e6 if peak_bytes else None
