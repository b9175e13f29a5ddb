"""Options of the commands that run a script: the script, what it requires, budget and folder; and its environment."""

import argparse
import shlex
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..shipped import FILES
from .options import show

if TYPE_CHECKING:
    from ..measure.cell import Setting
    from ..stacks.inline import Inline


def add_script_to(parser: argparse.ArgumentParser) -> None:
    """The script, its arguments and what it requires."""
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="any Python file")
    parser.add_argument(
        "--with", dest="more", nargs="+", action="extend", default=[], metavar="REQ", help="what it requires beside"
    )
    add_stack_to(parser)
    parser.add_argument("--args", default="", metavar="WORDS", help="arguments of the script, as a shell reads them")


def add_stack_to(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stack", metavar="NAME|LOCK", help="packages that it runs with beside: a stack of envs/, or a file of pins"
    )


def script_of(arguments: argparse.Namespace) -> "tuple[Path, list[str], Inline]":
    """The script, its arguments and what it requires. Raises ValueError, StackError."""
    from ..stacks.inline import read

    script = arguments.script.absolute()
    check_file(arguments.script)
    try:
        words = shlex.split(arguments.args)
    except ValueError as error:
        raise ValueError(f"--args cannot be split into words: {error}") from None
    return script, words, read(script, arguments.more, stack_of(arguments))


def check_file(script: Path) -> None:
    """Raise ValueError where a script cannot be run several times."""
    from ..text import did_you_mean

    if not script.exists():
        near = [path.name for path in script.parent.glob("*.py")]
        raise ValueError(f"there is no file {script}{did_you_mean(script.name, near)}")
    if script.is_dir():
        raise ValueError(f"{script} is a folder, and has to be a Python file")
    if not script.is_file() or script.absolute().parts[1] in ("dev", "proc"):
        raise ValueError(f"{script} can be read once, and a script runs several times: write it into a file")


def stack_of(arguments: argparse.Namespace) -> Path | None:
    """The lock of `--stack`. Raises StackError, ValueError."""
    from ..stacks.locks import ENVS, lock_of

    if arguments.stack is None:
        return None
    file = Path(arguments.stack).absolute()
    return file if file.is_file() else lock_of(arguments.stack, FILES / ENVS)


def same_script(command: str, script: Path, words: Sequence[str]) -> dict[str, Any]:
    """The question of a command that measures anew: another version of the script replaces an earlier one."""
    from ..measure.campaign import words_of

    return {"command": command, "script": script.name, "arguments": words_of(words)}


def question_of(command: str, script: Path, words: Sequence[str], inline: "Inline", **more: Any) -> dict[str, Any]:
    """The question of a command whose runs go on: all that they depend on."""
    from .. import mask_secrets

    digest, requirements = sha256(script.read_bytes()).hexdigest(), [*map(mask_secrets.in_text, inline.requirements)]
    of = {"script_sha256": digest, "requirements": requirements, "stack": inline.pins}
    return same_script(command, script, words) | of | more


def setting_of(name: str, script: Path, words: Sequence[str], inline: "Inline", out: Path) -> "Setting":
    """The script's environment, built below `out`, and its job in an experiment of that name."""
    from ..measure.cell import Setting
    from ..measure.scripts import cell_of, job_of
    from ..stacks import scripts
    from ..stacks.venv import build

    show("building its environment")
    lock = scripts.locked(inline, out / "locks" / "script.txt")
    build(lock.path, out / "stacks" / "script")
    show("")
    if lock.moved:
        print(f"had to move: {lock.moved}")
    job = job_of(cell_of(name, "script", script, 1, words), script, words)
    return Setting(job, str(out / "stacks" / "script" / "bin" / "python"), lock.path, out / "private")
