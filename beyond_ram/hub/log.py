"""The log of requests."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from aiohttp import web

from beyond_ram import files
from beyond_ram.hub.meter import MeterReading

BYTES_SENT: web.RequestKey[int] = web.RequestKey("bytes_sent", int)
"""Bytes sent of a body that is sent in pieces."""
INJECTED_S: web.RequestKey[float] = web.RequestKey("injected_s", float)
"""Injected delay of an answer."""
STORAGE: web.RequestKey[str] = web.RequestKey("storage", str)
"""The other host that a request was forwarded to."""


@dataclass(frozen=True)
class Request:
    """One request and its answer."""

    t_s: float  # seconds from the endpoint's start to the request's arrival
    monotonic_s: float  # the arrival on CLOCK_MONOTONIC, which all processes of a machine share
    duration_s: float
    injected_s: float  # part of duration_s: latency, bandwidth and a slow body
    method: str
    endpoint: str  # resolve, cdn, info, tree, paths-info, commits, …; unknown without a route
    path: str  # with the query, without values that may be secret
    range: str  # the Range header, or empty
    status: int
    bytes_sent: int  # of the body
    in_flight: int  # number of open requests when this one arrived, itself included
    pid: int | None  # the client's process; None if unknown
    fault: str  # the injected fault, or empty
    before: MeterReading  # the endpoint's times when the request arrived
    after: MeterReading  # the endpoint's times when it was answered


class RequestLog(list[Request]):
    """Requests; each is also a line of JSON in a file if one is given."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = files.log(path) if path else None

    def add(self, request: Request) -> None:
        self.append(request)
        if self._file:
            self._file.write(json.dumps(asdict(request)) + "\n")

    def close(self) -> None:
        if self._file:
            self._file.close()
