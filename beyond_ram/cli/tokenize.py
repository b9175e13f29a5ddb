"""`beyond-ram tokenize`: convert text files to flat token ids in bounded memory."""

import argparse
import glob
import os
import resource
from pathlib import Path

from .options import limit

_ADDRESSES = 512 << 20  # bytes of addresses: with fewer the libraries crash while they start (measured: below 300 MB)


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from ..tokenize.engine import command_line

    parser = commands.add_parser(
        "tokenize",
        help="tokenise files into flat ids, in bounded memory",
        description="Tokenise Parquet, Arrow, JSON Lines, CSV and text (also .gz and .zst) into flat ids. The same "
        "command continues a killed one.",
    )
    command_line.add_to(parser, limit)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tokenizers",
        metavar="RELEASE",
        help="use the ids of this release, such as 1.0 (default: the stable one that transformers requires)",
    )
    which.add_argument("--stack", metavar="NAME", help="use the ids of the release in this stack, and only it")
    parser.set_defaults(run=run)


def _is_there(name: str) -> bool:
    return os.path.lexists(os.path.expanduser(name))  # noqa: PTH111 (`~nobody` too)


def _check(arguments: argparse.Namespace) -> None:
    """Check the input as far as possible without a stack."""
    for name in arguments.inputs:
        if not (_is_there(name) or glob.has_magic(name) or "://" in name):
            raise ValueError(f"{name or repr(name)}: no such file, folder or pattern with files")
    if not arguments.out:
        raise ValueError("--out '': it has to be a folder")
    if "://" in arguments.out:  # not shown: it may have a password
        raise ValueError("--out is an address, and has to be a folder of this machine")
    addresses = resource.getrlimit(resource.RLIMIT_AS)[0]
    if addresses != resource.RLIM_INFINITY and addresses < _ADDRESSES:
        least = _ADDRESSES // 1024
        raise ValueError(
            f"`ulimit -v` is {addresses // 1024}, and has to be {least} or more; use --memory-limit instead"
        )
    out = Path(arguments.out)
    if os.path.lexists(out) and not out.is_dir():
        raise ValueError(f"--out {out}: has to be a folder")


def run(arguments: argparse.Namespace) -> int:
    from ..tokenize import encoders
    from ..tokenize.formats import tokenizer_file

    tokenizer = tokenizer_file(arguments.tokenizer)
    _check(arguments)
    stack = encoders.of_release(arguments.tokenizers) if arguments.tokenizers else arguments.stack
    beside = arguments.stack is None and stack in (None, encoders.NAMED)
    python = encoders.interpreter(encoders.FAST if beside else stack)
    switches = [name for name in ("no_special_tokens", "sha256", "verify", "json") if getattr(arguments, name)]
    command = [str(python), str(encoders.ENGINE / "run.py"), *(f"--{name.replace('_', '-')}" for name in switches)]
    for name in ("out", "format", "workers", "memory_limit", "text_column", "shard", "append", "verify_share"):
        value = getattr(arguments, name)
        if value is not None:
            command.append(f"--{name.replace('_', '-')}={value}")
    if any("://" in name and not _is_there(name) for name in arguments.inputs):
        command.append(f"--stores={encoders.interpreter(encoders.STORES)}")
    if beside:
        command.append(f"--named={encoders.packages(encoders.NAMED)}")
    command += [f"--tokenizer={tokenizer}", "--", *arguments.inputs]
    # Replace this process, so that ending the command ends the work and our memory is freed.
    os.execv(command[0], command)
