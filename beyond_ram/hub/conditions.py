"""The network between a client and the endpoint: latency, bandwidth, redirects, faults, Xet. Independent of HTTP."""

import asyncio
import math
import time
from collections.abc import Hashable
from dataclasses import dataclass

from beyond_ram.hub.meter import AnswerMeter

FAULTS = {
    "error-500": "answered 500",
    "too-many-429": "answered 429, with Retry-After",
    "drop": "the connection closed in the middle of the body",
    "slow": "the body spread over some seconds",
}


@dataclass(frozen=True)
class Fault:
    """A kind of fault. One in `every_nth` reads of data fails once; the same read succeeds when repeated."""

    kind: str
    every_nth: int

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise ValueError(f"fault is {self.kind!r}; it must be one of {', '.join(FAULTS)}")
        if self.every_nth < 1:
            raise ValueError(f"fault {self.kind} hits every {self.every_nth}th read; it must be 1 or more")

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Parse KIND:EVERY_NTH. Raises ValueError."""
        kind, _, number = text.partition(":")
        if not number.isdecimal():
            raise ValueError(f"fault is {text!r}; it must be KIND:EVERY_NTH, KIND one of {', '.join(FAULTS)}")
        return cls(kind, int(number))


@dataclass(frozen=True)
class Conditions:
    """The network to the endpoint. The default is the machine's loopback, which is faster than any network."""

    latency_ms: float = 0
    """Delay before each answer."""
    bandwidth_mb_per_s: float | None = None
    """Megabytes per second for the bodies of files, shared by all connections."""
    redirect: bool = False
    """Redirect reads of LFS files to another address, as the Hub does."""
    faults: tuple[Fault, ...] = ()
    xet: bool = False
    """Offer LFS files from Xet storage too, as the Hub does."""

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
        """Scheme, host and port of redirects."""
        self.meter = AnswerMeter()
        """Times of the endpoint's own work, and of these conditions."""

    def change(self, conditions: Conditions) -> None:
        """Change the conditions. Reads that had a fault before may have one again."""
        self.conditions = conditions
        self._line_free_at = 0.0
        self._seen: set[Hashable] = set()

    async def latency(self) -> float:
        """Wait for one round trip. Returns the seconds waited."""
        return await self.wait(self.conditions.latency_ms / 1000) if self.conditions.latency_ms else 0.0

    async def transmit(self, size: int) -> float:
        """Wait until `size` bytes have passed the shared bandwidth. Returns the seconds waited."""
        if not self.conditions.bandwidth_mb_per_s:
            return 0.0
        start = max(self._line_free_at, time.monotonic())
        self._line_free_at = start + size / (self.conditions.bandwidth_mb_per_s * 1e6)
        return await self.wait(self._line_free_at - time.monotonic())

    async def wait(self, seconds: float) -> float:
        """Delay an answer. Returns the seconds waited."""
        began = time.monotonic()
        with self.meter.delayed():
            await asyncio.sleep(seconds)
        return time.monotonic() - began

    def fault(self, read: Hashable) -> str:
        """The fault of this read of data, or "". A repeated read has none."""
        if not self.conditions.faults or read in self._seen:
            return ""
        self._seen.add(read)
        return next((fault.kind for fault in self.conditions.faults if not len(self._seen) % fault.every_nth), "")
