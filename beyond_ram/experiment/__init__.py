"""The model of the config: experiments, matrices, cells and the path grammar."""

from . import kept, memory
from .load import ConfigError, load
from .model import Config, tokenize_constraints
from .paths import Cell, parse

__all__ = ["Cell", "Config", "ConfigError", "kept", "load", "memory", "parse", "tokenize_constraints"]
