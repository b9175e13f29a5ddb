"""The memory request of a cell: from its last run, or an estimate."""

import os
from pathlib import Path

from ..experiment.paths import Cell
from ..files import DamagedError
from ..memory_request import MemoryRequest, request_of
from ..records import cell_runs

# Memory of two processes of the workflow engine, at the job and at its step, and of the watcher: 244 MB measured.
DRIVER_MB = 350


def request_mb(runs: Path | str, cell: Cell, estimate_mb: int, attempt: int = 1) -> int:
    """The request in megabytes: the request of the cell's measured run, plus memory of the driver.

    Each attempt doubles it. Any repeat of the cell will do. Without a measured run it is the estimate, and not less if
    the request of a run is a lower bound.
    """
    folders = [f"{runs}/{Cell(cell.experiment, cell.axes, rep).path}" for rep in {cell.rep, 1}]
    # Most of ten thousand cells of a plan have no run yet.
    requests = [one for folder in folders if os.path.exists(folder) and (one := _request(Path(folder)))]  # noqa: PTH110
    needed_mb = max(one.request_bytes for one in requests) / 1e6 + DRIVER_MB if requests else estimate_mb
    if any(one.at_least for one in requests):
        needed_mb = max(needed_mb, estimate_mb)
    return int(needed_mb * 2 ** (attempt - 1))


def _request(run: Path) -> MemoryRequest | None:
    try:
        record = cell_runs.record(run)
        return request_of(record) if record["peak"].get("rss_bytes") else None
    except (DamagedError, KeyError):
        return None
