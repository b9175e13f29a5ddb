"""The model of the config: experiments, matrices, cells and the path grammar."""

from . import kept, memory, tokens
from .grammar import interrupted_pattern, parse, run_pattern
from .load import ConfigError, load
from .model import Config
from .paths import NAME, Cell
from .workloads import AXES

__all__ = [
    "AXES",
    "NAME",
    "Cell",
    "Config",
    "ConfigError",
    "interrupted_pattern",
    "kept",
    "load",
    "memory",
    "parse",
    "run_pattern",
    "tokens",
]
