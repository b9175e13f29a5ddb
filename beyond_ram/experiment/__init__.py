"""The model of the config: experiments, matrices, cells and the path grammar."""

from ..text import NAME
from . import merge, places, roles, specs, tokens
from .grammar import interrupted_pattern, parse, run_pattern
from .job import Job, Served
from .load import ConfigError, content_of, load
from .model import Config
from .paths import Cell
from .workloads import AXES, WORKLOADS

__all__ = [
    "AXES",
    "NAME",
    "WORKLOADS",
    "Cell",
    "Config",
    "ConfigError",
    "Job",
    "Served",
    "content_of",
    "interrupted_pattern",
    "load",
    "merge",
    "parse",
    "places",
    "roles",
    "run_pattern",
    "specs",
    "tokens",
]
