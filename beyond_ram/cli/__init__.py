"""The command `beyond-ram`."""

import argparse
import sys
from collections.abc import Sequence

from . import compare, gate, make, run, stack, watch, weigh


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: its own, or 2 for bad input, told in one line."""
    parser = argparse.ArgumentParser(prog="beyond-ram", description="Weighs memory of data pipelines, and says why.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (run, watch, compare, gate, stack, weigh, make):
        module.add_to(commands)
    arguments = parser.parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        return status
    except (ValueError, OSError, RuntimeError) as error:
        print(f"beyond-ram: {error}", file=sys.stderr)
        return 2
