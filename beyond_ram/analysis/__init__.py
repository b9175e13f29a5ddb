"""Pure functions from runs and tables to tables. They look at no machine and open no file."""

from .claims import claims
from .growth import growth
from .limits import limits
from .owners import owners
from .remedies import remedies
from .runs import runs
from .shards import shards
from .streaming import streaming
from .verdicts import verdicts

__all__ = ["claims", "growth", "limits", "owners", "remedies", "runs", "shards", "streaming", "verdicts"]
