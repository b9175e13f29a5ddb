"""Measures the memory cost of machine-learning data pipelines that are larger than RAM, and explains it.

A measured program can report what it does (`phase`, `mark`). A notebook or a test can measure itself (`watching`).
"""

from typing import Any

__version__ = "0.1.0"
# Imported by name on first use, so that a change of these modules does not make other outputs out of date.
_FROM = {"phase": "phases", "mark": "phases", "emit": "phases", "watching": "watched_block"}


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_FROM[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FROM})
