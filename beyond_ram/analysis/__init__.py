"""Pure functions from runs and tables to tables. They look at no machine and open no file."""

from .growth import growth
from .runs import runs
from .shards import shards

__all__ = ["growth", "runs", "shards"]
