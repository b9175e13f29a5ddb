"""Pure functions from runs and tables to tables. They look at no machine and open no file."""

from .claims import claims
from .growth import growth
from .limits import limits
from .loaders import choices, loaders, ranks, writers
from .owners import owners
from .remedies import remedies
from .runs import runs
from .shards import shards
from .streaming import streaming
from .verdicts import verdicts

__all__ = [
    "choices",
    "claims",
    "growth",
    "limits",
    "loaders",
    "owners",
    "ranks",
    "remedies",
    "runs",
    "shards",
    "streaming",
    "verdicts",
    "writers",
]
