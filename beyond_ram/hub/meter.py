"""Time that the endpoint itself takes, as sums since its start. Subtract two readings to get an interval."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class MeterReading:
    """The sums at one moment, in seconds."""

    cpu_s: float  # CPU time of the endpoint's process, user and system, all threads
    busy_s: float  # time with work on at least one answer
    injected_s: float  # time in which all open answers were delayed: latency, bandwidth, a slow body


class AnswerMeter:
    """Counts open answers, and how many of them are delayed on purpose. Used from one event loop."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._answers = self._delayed = 0
        self._busy_s = self._injected_s = 0.0

    def begin(self) -> MeterReading:
        """Count an answer that begins. Returns the sums before it."""
        reading = self.read()
        self._answers += 1
        return reading

    def end(self) -> MeterReading:
        """Count an answer that ends. Returns the sums after it."""
        reading = self.read()
        self._answers -= 1
        return reading

    @contextlib.contextmanager
    def delayed(self) -> Iterator[None]:
        """Count an answer as delayed while the block runs."""
        self._advance()
        self._delayed += 1
        try:
            yield
        finally:
            self._advance()
            self._delayed -= 1

    def read(self) -> MeterReading:
        self._advance()
        return MeterReading(round(time.process_time(), 6), round(self._busy_s, 6), round(self._injected_s, 6))

    def _advance(self) -> None:
        now = time.monotonic()
        if self._answers > self._delayed:
            self._busy_s += now - self._at
        elif self._answers:
            self._injected_s += now - self._at
        self._at = now
