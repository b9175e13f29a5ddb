"""A streaming run: start and stop its endpoint, and record its requests by process."""

import contextlib
import csv
import json
import os
import select
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ..experiment import Served
from ..files import DamagedError, whole
from ..records.reading import is_number
from ..records.run_json import WorkEntry
from . import processes

# Variables that would send a client to another Hub, or keep it offline.
_UNSET = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_ENDPOINT")
# Files with a client's token.
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_DISABLE_IMPLICIT_TOKEN")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_STARTS_IN_S = 60
_S3_SERVER = Path("scripts/repositories/s3_server.py")
FILE = "requests.csv"
COLUMNS = (  # noqa: SIM905
    "t_s duration_s injected_s role pid method kind path range status bytes_sent in_flight fault"
).split()


# Optional fields of a request in the endpoint's log: some servers have no meter and no delays.
_NUMBERS = ("t_s", "monotonic_s", "duration_s", "status", "bytes_sent", "in_flight")
_TEXTS = ("method", "endpoint", "path", "range", "fault")
_SUMS = ("cpu_s", "busy_s", "injected_s")


class ServingError(RuntimeError):
    """The endpoint did not start, or ended early. The message is one line."""


@dataclass
class Endpoint:
    """Environment of a run, and the request log of its endpoint."""

    environment: Mapping[str, str]
    log: Path
    lives: Callable[[], bool]
    """Whether the endpoint is still running."""

    def requests(self) -> list[dict[str, Any]]:
        """The requests in the endpoint's log, in order of arrival. Raises DamagedError."""
        if not self.log.exists():
            return []
        requests = [self._request(line, number) for number, line in enumerate(self.log.read_bytes().splitlines(), 1)]
        return sorted(requests, key=lambda request: request["monotonic_s"])

    def _request(self, line: bytes, number: int) -> dict[str, Any]:
        """Parse a line of the log. Raises DamagedError if it is incomplete: the server may have been killed."""
        try:
            request = json.loads(line.decode())
            sides = ("before", "after") if "before" in request else ()
            numbers = [request[name] for name in _NUMBERS] + [request[side][name] for side in sides for name in _SUMS]
            texts = all(isinstance(request[name], str) for name in _TEXTS)
            if texts and all(map(is_number, numbers)) and isinstance(request.get("pid"), int | None):
                return dict(request)
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise DamagedError(f"{self.log}: line {number} is no request")


@contextlib.contextmanager
def serving(spec: Served, root: Path, work: Path, python: str) -> Iterator[Endpoint]:
    """The endpoint for one run. The server is a separate process, so neither the watcher nor the client counts its
    work.

    With `endpoint` the server forwards to that Hub, and gives the run a token that only this server accepts. For
    storage `s3` the server is moto, from the stack of `python`. Raises ServingError, also if the server ends before the
    block.
    """
    environment = {"HF_HOME": str((work / "hf").resolve()), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment["HF_HUB_DISABLE_XET"] = str(int(spec.conditions.get("xet") != "yes"))
    environment["NETRC"] = os.devnull  # a name or password there would replace the token
    # Only the server needs the token and the proxies, to reach the other Hub.
    own = dict(os.environ) if spec.endpoint else None
    with _without([*_UNSET, *_TOKENS, *_PROXIES, *map(str.upper, _PROXIES)]):
        log = work / "requests.jsonl"
        where = ["--upstream", spec.endpoint] if spec.endpoint else ["--root", str(root)]
        where += ["--log", str(log)]
        if spec.storage == "s3":
            command = [python, str(_S3_SERVER), *where]
        else:
            command = [sys.executable, "-m", "beyond_ram.hub", *where, *_conditions(spec.conditions)]
        reading, writing = os.pipe()
        with (
            os.fdopen(reading, encoding="utf-8") as output,
            os.fdopen(writing, "wb") as sink,
            processes.beside(command, sink.fileno(), own) as server,
        ):
            sink.close()

            def lives() -> bool:
                if server.fatal is None:
                    server.listen()
                return server.returncode is None and server.fatal is None

            yield Endpoint(environment | _client_environment(output), log, lives)
            if not lives():
                server.raise_fatal()
                assert server.returncode is not None
                raise ServingError(f"the endpoint ended before the run, with {processes.ending(server.returncode)}")


def copied(repository: Path, copy: Path) -> Path:
    """A writable copy of a repository. Its files are links: the endpoint replaces files and never changes them."""
    shutil.copytree(repository, copy, copy_function=os.link)
    return copy


def _conditions(conditions: Mapping[str, Any]) -> list[str]:
    """Command-line flags of the endpoint for some conditions."""
    flags = ["--page-size", str(conditions.get("page_size", 1000))]
    flags += ["--latency-ms", str(conditions.get("latency_ms", 0))]
    if bandwidth := conditions.get("bandwidth_mb_per_s"):
        flags += ["--bandwidth-mb-s", str(bandwidth)]
    flags += [f"--{name}" for name in ("redirect", "xet") if conditions.get(name) == "yes"]
    if (fault := conditions.get("fault", "none")) != "none":
        flags += ["--fault", fault.replace("-every-", ":")]
    return flags


def _client_environment(server: TextIO) -> dict[str, str]:
    """Environment variables for a client, from the server's ready message: its address and its token, if any."""
    ready, _, _ = select.select([server], [], [], _STARTS_IN_S)
    variables: dict[str, str] = {}
    while ready and (line := server.readline()):
        name, _, value = line.strip().partition("=")
        if name == "S3_ENDPOINT":  # options of fsspec, and the bucket
            where = {"endpoint_url": value, "region_name": "us-east-1"}
            options = {"bucket": "repositories", "key": "local", "secret": "local", "client_kwargs": where}
            return {"BEYOND_RAM_S3": json.dumps(options), "AWS_EC2_METADATA_DISABLED": "true"}
        # Also the token's variable name of 2023.
        variables |= {name: value} | ({"HUGGING_FACE_HUB_TOKEN": value} if name == "HF_TOKEN" else {})
        if name == "HF_ENDPOINT":
            return variables
    raise ServingError(f"the endpoint did not start within {_STARTS_IN_S} s")


@contextlib.contextmanager
def _without(names: Iterable[str]) -> Iterator[None]:
    """The environment of this process without some variables."""
    taken = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)


def summary(requests: Sequence[Mapping[str, Any]], pid: int, events: Sequence[Mapping[str, Any]]) -> WorkEntry:
    """The requests of a run for run.json, counted by kind and role."""
    lines = joined(requests, pid, events)
    endpoint = own_work(requests)
    return {
        "requests": _counts(lines),
        "requests_failed": sum(bool(line["fault"]) or line["status"] >= 500 or line["status"] == 0 for line in lines),
        "bytes_received": sum(line["bytes_sent"] for line in lines),
        "in_flight_max": _at_once(lines),
        **({"endpoint": endpoint} if endpoint else {}),
    }


def own_work(requests: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Work of the endpoint in seconds from the first request to the last answer, `duration_s`, from its meter.

    Empty if the server has no meter.
    """
    metered = [request for request in requests if "before" in request]
    if not metered:
        return {}
    first, last = metered[0], max(metered, key=lambda request: float(request["monotonic_s"] + request["duration_s"]))
    work = {name: round(last["after"][name] - first["before"][name], 6) for name in _SUMS}
    return work | {"duration_s": round(last["monotonic_s"] + last["duration_s"] - first["monotonic_s"], 6)}


def joined(
    requests: Sequence[Mapping[str, Any]], pid: int, events: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The requests on the run's time axis, each with its kind and the role of its process."""
    # Monotonic clock minus run time in seconds, from an event that has both.
    offset = next((event["clock_s"] - event["t_s"] for event in events if "clock_s" in event), None)
    workers = {event["pid"] for event in events if event["event"] == "worker"}
    return [
        {
            **{name: request.get(name, "") for name in COLUMNS if name in request},
            "t_s": round(request["monotonic_s"] - offset, 6) if offset is not None else request["t_s"],
            "role": _role(request.get("pid"), pid, workers),
            "kind": _kind(request),
        }
        for request in requests
    ]


def write_csv(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the requests of a run as CSV, atomically."""
    with whole(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def _role(pid: int | None, root: int, workers: set[int]) -> str:
    if pid is None:
        return "unknown"
    return "main" if pid == root else "worker" if pid in workers else "other"


def _kind(request: Mapping[str, Any]) -> str:
    """The endpoint's name for a request. File reads are divided into existence checks, small whole files, and data."""
    name, path = str(request["endpoint"]), str(request["path"]).partition("?")[0]
    if name == "elsewhere":  # storage of another Hub, whose paths are not file names
        return "data"
    if name not in ("resolve", "cdn"):
        return {"revision": "info"}.get(name, name)
    if request["method"] == "HEAD":
        return "head"
    if not path.endswith((".parquet", ".tar", ".mp4")):
        return "small-file"
    return "redirect" if request["status"] in (301, 302, 307) else "data"


def _counts(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    counts = Counter((line["kind"], line["role"]) for line in lines)
    kinds = sorted({kind for kind, _ in counts})
    return {kind: {role: number for (k, role), number in sorted(counts.items()) if k == kind} for kind in kinds}


def _at_once(lines: Sequence[Mapping[str, Any]]) -> int:
    """The largest number of requests answered at the same time."""
    changes = [(line["t_s"], 1) for line in lines] + [(line["t_s"] + line["duration_s"], -1) for line in lines]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most
