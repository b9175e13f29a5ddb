"""What was asked of the endpoint."""

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from aiohttp import web

from beyond_ram import files
from beyond_ram.hub.meter import Reading

BYTES_SENT: web.RequestKey[int] = web.RequestKey("bytes_sent", int)
"""What was sent of a body that went out in pieces."""
INJECTED_S: web.RequestKey[float] = web.RequestKey("injected_s", float)
"""How long an answer was held back on purpose."""
STORAGE: web.RequestKey[str] = web.RequestKey("storage", str)
"""The host elsewhere that a request was handed on to."""


@dataclass(frozen=True)
class Request:
    """One request, as it was answered."""

    t_s: float  # when it arrived, since the endpoint was started
    monotonic_s: float  # the same on CLOCK_MONOTONIC, which all processes of a machine share
    duration_s: float
    injected_s: float  # of it, latency, bandwidth and a slow body
    method: str
    endpoint: str  # resolve, cdn, info, tree, paths-info, commits, …; unknown where nothing is served
    repo: str  # datasets/ORG/NAME, or empty
    path: str  # with the query; without the values of keys that are not known to be harmless
    range: str  # the Range header, or empty
    status: int
    bytes_sent: int  # of the body
    in_flight: int  # requests being answered when this one arrived, itself included
    client: str  # address and port: one connection
    pid: int | None  # the client's process, where it can be found
    fault: str  # what was injected, or empty
    user_agent: str
    before: Reading  # the endpoint's own sums when the request arrived
    after: Reading  # and when it was answered


class RequestLog:
    """Keeps requests, and writes each as a line of JSON where a file is named. Safe to read while the server runs."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._file = files.log(path) if path else None

    def add(self, request: Request) -> None:
        """Appends one request."""
        with self._lock:
            self._requests.append(request)
            if self._file:
                self._file.write(json.dumps(asdict(request)) + "\n")

    def clear(self) -> None:
        """Forgets what was kept; the file keeps it."""
        with self._lock:
            self._requests.clear()

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()

    def __iter__(self) -> Iterator[Request]:
        with self._lock:
            return iter(list(self._requests))

    def __len__(self) -> int:
        with self._lock:
            return len(self._requests)
