"""The command `beyond-ram`."""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn

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
    "completion",
    "measure",
    "make",
)
# The extra that a command needs beyond `beyond-ram watch`, unless its module has EXTRA.
_EXTRA = "workflow"
# How much an option has to be like a mistyped one (`--out` is to `--timeout` by 0.71).
_SIMILAR_OPTION = 0.8


class Parser(argparse.ArgumentParser):
    """A parser that reports bad input in one line, and takes no option for another by its beginning."""

    words: ClassVar[Sequence[str]] = ()
    """The command line, of which messages quote parts."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        line = " ".join(_masked(message, self.words).split())
        self.exit(2, f"{self.prog}: {line}; see {self.prog} --help\n")


def _masked(message: str, words: Sequence[str]) -> str:
    """A message without secrets, also where it quotes a part of the command line that does not show what it is."""
    for word, shown in zip(words, mask_secrets.in_command(words), strict=True):
        if word != shown:
            quoted = rf"(?<![^\s'\"]){re.escape(word)}(?![^\s'\"])"
            message = re.sub(quoted, shown.replace("\\", r"\\"), message)
    return mask_secrets.in_text(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. For bad input, print one line and return 2."""
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout:  # None where it is closed
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\n" * sys.stderr.isatty() + "beyond-ram: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:  # of `| head`; a flush at the end would fail too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:  # of that flush
        print(f"beyond-ram: standard output: {_in_words(error)}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


def _run(words: list[str]) -> int:
    arguments = _parsed(words)
    try:
        return _with_json(arguments) if "json_file" in arguments and arguments.json else int(arguments.run(arguments))
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == __package__.partition(".")[0]:
            raise
        extra = getattr(sys.modules[arguments.run.__module__], "EXTRA", _EXTRA)
        # No registry has a package of this name. If one appears, it is not ours.
        call = f"uvx --from 'PATH/TO/beyond-ram[{extra}]' beyond-ram {words[0]} …"
        needs = f"needs {error.name}, which is not installed here; in an environment of its own: {call}"
        print(f"beyond-ram {words[0]}: {needs}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        print(f"beyond-ram: {_masked(_in_words(error), words)}", file=sys.stderr)
        return 2


def _with_json(arguments: argparse.Namespace) -> int:
    """Run a command whose result goes to standard output as one JSON document, and its text to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        status: int = arguments.run(arguments)
    if arguments.json_file:
        print(Path(arguments.out, arguments.json_file).read_text(encoding="utf-8"), end="")
    else:
        print(json.dumps(arguments.document, indent=1))
    return status


def _parsed(words: list[str]) -> argparse.Namespace:
    """The arguments of a command. Ends with status 2 for words that mean nothing."""
    Parser.words = words
    parser = Parser(
        prog="beyond-ram", description="Measure the memory of data pipelines, and find out why they need it."
    )
    parser.add_argument("--version", action="version", version=f"beyond-ram {__version__}")
    if words and words[0] not in (*COMMANDS, "-h", "--help", "--version"):
        parser.error(_no_command(words[0]))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    # Import only the module of this command, so that `watch` starts quickly.
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        import_module(f".{name}", __package__).add_to(commands)
    arguments, others = parser.parse_known_args(words)
    if others:
        commands.choices[words[0]].error(_unrecognised(words, others, arguments, commands.choices[words[0]]))
    return arguments


def _no_command(word: str) -> str:
    from ..text import did_you_mean

    text = f"no command {word!r}"
    if hint := did_you_mean(word.lstrip("-"), COMMANDS):
        return text + hint
    if word.startswith("-"):
        return f"a command comes first, and then {word}"
    return text + (
        f"; to measure it: beyond-ram watch -- {word} …" if shutil.which(word) or Path(word).exists() else ""
    )


def _unrecognised(
    words: list[str], others: list[str], arguments: argparse.Namespace, parser: argparse.ArgumentParser
) -> str:
    """What is wrong with words that no argument takes, and what to type instead."""
    from ..text import did_you_mean

    text = f"unrecognized arguments: {' '.join(others)}"
    given = vars(arguments)
    takes_command = isinstance(given.get("command"), list)
    options = [option for action in parser._actions for option in action.option_strings]
    if others[0].startswith("-") and not (takes_command and words[1][:1] != "-"):
        option = others[0].partition("=")[0]
        whole = next((one for one in options if one.startswith(option)), option)
        if hint := did_you_mean(whole, options, _SIMILAR_OPTION):
            return text + hint
    if takes_command and "--" not in words:
        return f"{text}; a command and its options go behind --"
    if isinstance(script := given.get("script"), Path):
        if script.name.startswith("python") and others[0].endswith(".py"):
            return f"{text}; it takes the file alone: {parser.prog} {others[0]}"
        return f"{text}; arguments of the script go into --args '…'"
    return text


def _in_words(error: Exception) -> str:
    """The text of an error; of the system's errors without their number."""
    if isinstance(error, MemoryError):
        return str(error) or "no memory is left for it here (ulimit -v?)"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    text = error.strerror[0].lower() + error.strerror[1:]
    return text if error.filename is None else f"{error.filename}: {text}"
