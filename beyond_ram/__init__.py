"""Weighs what larger-than-RAM data pipelines for machine learning cost in memory, and says why.

A program that is weighed may say what it does (`phase`, `mark`); a notebook or a test may weigh itself (`watching`).
"""

from typing import Any

__version__ = "0.1.0"
# Imported by name on first use, so that changes of these modules make nothing else out of date.
_FROM = {"phase": "phases", "mark": "phases", "emit": "phases", "watching": "seen"}


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_FROM[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FROM})
