"""The command `beyond-ram`."""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import ClassVar, NoReturn

from .. import __version__, mask_secrets

COMMANDS = (
    "run",
    "watch",
    "show",
    "job",
    "tokenize",
    "compare",
    "gate",
    "bisect",
    "atlas",
    "limit",
    "why",
    "fit",
    "stack",
    "bump",
    "init",
    "weigh",
    "make",
)
# The extra that a command needs beyond `beyond-ram watch`, unless its module has EXTRA.
_EXTRA = "workflow"


class _Parser(argparse.ArgumentParser):
    words: ClassVar[Sequence[str]] = ()

    def error(self, message: str) -> NoReturn:
        super().error(_masked(message, self.words))


def _masked(message: str, words: Sequence[str]) -> str:
    """A message without secrets, also where it quotes a part of the command line that does not show what it is."""
    for word, shown in zip(words, mask_secrets.in_command(words), strict=True):
        if word != shown:
            quoted = rf"(?<![^\s'\"]){re.escape(word)}(?![^\s'\"])"
            message = re.sub(quoted, shown.replace("\\", r"\\"), message)
    return mask_secrets.in_text(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. For bad input, print one line and return 2."""
    _Parser.words = words = sys.argv[1:] if argv is None else argv
    parser = _Parser(
        prog="beyond-ram", description="Measure the memory of data pipelines, and find out why they need it."
    )
    parser.add_argument("--version", action="version", version=f"beyond-ram {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    # Import only the module of this command, so that `watch` starts quickly.
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        import_module(f".{name}", __package__).add_to(commands)
    arguments = parser.parse_args(words)
    try:
        status: int = arguments.run(arguments)
        return status
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == __package__.partition(".")[0]:
            raise
        extra = getattr(sys.modules[arguments.run.__module__], "EXTRA", _EXTRA)
        # No registry has a package of this name. If one appears, it is not ours.
        needs = (
            f"needs {error.name}, which is not installed: pip install 'PATH/TO/beyond-ram[{extra}]', of its checkout"
        )
        print(f"beyond-ram {words[0]}: {needs}", file=sys.stderr)
        return 2
    except (ValueError, OSError, RuntimeError) as error:
        print(f"beyond-ram: {_masked(str(error), words)}", file=sys.stderr)
        return 2
