"""Makes beyond_ram/terminal.py a logger of Snakemake, which finds loggers by the name of their package."""

from beyond_ram.terminal import LogHandler, LogHandlerSettings

__all__ = ["LogHandler", "LogHandlerSettings"]
