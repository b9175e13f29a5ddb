"""What lies between a client and the endpoint: latency, bandwidth, redirects and faults. Knows no HTTP."""

import asyncio
import math
import time
from collections.abc import Hashable
from dataclasses import dataclass

from beyond_ram.hub.meter import Meter

FAULTS = {
    "error-500": "answered 500",
    "too-many-429": "answered 429, with Retry-After",
    "drop": "the connection closed in the middle of the body",
    "slow": "the body spread over some seconds",
}


@dataclass(frozen=True)
class Fault:
    """One kind of fault: one in `every_nth` reads of data fails once; the same read succeeds when it is repeated."""

    kind: str
    every_nth: int

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise ValueError(f"fault is {self.kind!r}; there are: {', '.join(FAULTS)}")
        if self.every_nth < 1:
            raise ValueError(f"fault {self.kind} hits every {self.every_nth}th read; 1 is the least")

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """A fault as it is written on a command line: KIND:EVERY_NTH."""
        kind, _, number = text.partition(":")
        if not number.isdecimal():
            raise ValueError(f"fault is {text!r}; it is written KIND:EVERY_NTH, with one of {', '.join(FAULTS)}")
        return cls(kind, int(number))


@dataclass(frozen=True)
class Conditions:
    """The way to the endpoint. The default is the machine's own loopback, which is faster than any network."""

    latency_ms: float = 0
    """Waited before each answer."""
    bandwidth_mb_per_s: float | None = None
    """Of all connections together, for the bodies of files; megabytes a second."""
    redirect: bool = False
    """Whether files in LFS are answered with a redirect to another address, as on the Hub."""
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.latency_ms) and self.latency_ms >= 0):
            raise ValueError(f"latency is {self.latency_ms} ms; it cannot be below 0")
        bandwidth = self.bandwidth_mb_per_s
        if bandwidth is not None and not (math.isfinite(bandwidth) and bandwidth > 0):
            raise ValueError(f"bandwidth is {bandwidth} MB/s; it must be above 0")


LOCAL = Conditions()


class Traffic:
    """Applies the conditions. Used from one event loop."""

    def __init__(self, conditions: Conditions) -> None:
        self.change(conditions)
        self.cdn = ""
        """Where redirects lead: scheme, host and port."""
        self.meter = Meter()
        """What is the endpoint's own work, and what these conditions are."""

    def change(self, conditions: Conditions) -> None:
        """Other conditions from now on. Reads that had a fault before may have one again."""
        self.conditions = conditions
        self._line_free_at = 0.0
        self._seen: set[Hashable] = set()

    async def latency(self) -> float:
        """One way there and back; the seconds waited."""
        return await self.wait(self.conditions.latency_ms / 1000) if self.conditions.latency_ms else 0.0

    async def transmit(self, size: int) -> float:
        """Wait until `size` bytes are through the line that all connections share; the seconds waited."""
        if not self.conditions.bandwidth_mb_per_s:
            return 0.0
        start = max(self._line_free_at, time.monotonic())
        self._line_free_at = start + size / (self.conditions.bandwidth_mb_per_s * 1e6)
        return await self.wait(self._line_free_at - time.monotonic())

    async def wait(self, seconds: float) -> float:
        """Hold an answer back; the seconds that it took."""
        began = time.monotonic()
        with self.meter.held_back():
            await asyncio.sleep(seconds)
        return time.monotonic() - began

    def fault(self, read: Hashable) -> str:
        """The fault of this read of data, or an empty text. A read that has come before has none."""
        if not self.conditions.faults or read in self._seen:
            return ""
        self._seen.add(read)
        return next((fault.kind for fault in self.conditions.faults if not len(self._seen) % fault.every_nth), "")
