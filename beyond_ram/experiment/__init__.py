"""The model of the config: experiments, matrices, cells and the path grammar."""

from . import kept, memory
from .load import ConfigError, load
from .model import Config, axes
from .paths import Cell, parse, pattern

__all__ = ["Cell", "Config", "ConfigError", "axes", "kept", "load", "memory", "parse", "pattern"]
