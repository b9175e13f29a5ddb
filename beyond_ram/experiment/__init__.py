"""The model of the config: experiments, matrices, cells and the path grammar."""

from . import kept, memory, tokens
from .load import ConfigError, load
from .model import Config
from .paths import NAME, Cell, parse
from .workloads import interrupted_pattern, run_pattern

__all__ = [
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
