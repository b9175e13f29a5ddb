"""Makes beyond_ram/terminal.py a logger of Snakemake, which finds loggers by package name."""

from beyond_ram.terminal import LogHandler

__all__ = ["LogHandler"]
