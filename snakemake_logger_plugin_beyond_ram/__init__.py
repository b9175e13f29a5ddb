"""Makes beyond_ram/workflow/terminal.py a logger of Snakemake, which finds loggers by package name."""

from beyond_ram.workflow.terminal import LogHandler

__all__ = ["LogHandler"]
