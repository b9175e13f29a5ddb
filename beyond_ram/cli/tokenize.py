"""`beyond-ram tokenize`: convert text files to flat token ids in bounded memory."""

import argparse
import glob
import os
import re
import resource
from pathlib import Path

from .options import limit, number

_ADDRESSES = 512 << 20  # bytes of addresses: with fewer the libraries crash while they start (measured: below 300 MB)


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "tokenize",
        help="tokenise files into flat ids, in bounded memory",
        description="Tokenise Parquet, Arrow, JSON Lines, CSV and text (also .gz and .zst) into flat ids. The same "
        "command continues a killed one.",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="files, folders or quoted patterns, in order; also of stores, such as hf://datasets/USER/NAME or s3://BUCKET",
    )
    parser.add_argument(
        "--tokenizer",
        required=True,
        help="a tokenizer.json, or a folder with one; for others, prints the command that converts it",
    )
    parser.add_argument("--out", required=True, help="folder for the result")
    parser.add_argument(
        "--format",
        choices=("bin", "datasets", "parquet"),
        default="datasets",
        help="datasets: load_from_disk opens it; bin: uint16 or uint32 with Megatron's index (default: datasets)",
    )
    parser.add_argument("--workers", type=_count, default=0, metavar="N", help="processes (default: one per core)")
    parser.add_argument(
        "--memory-limit",
        type=limit,
        default=0,
        metavar="SIZE",
        help="limit of anonymous memory of all processes, such as 500M or 2G",
    )
    parser.add_argument("--text-column", default="text", metavar="C", help="column with the text (default: text)")
    parser.add_argument(
        "--shard",
        type=_shard,
        default="1/1",
        metavar="I/N",
        help="do the I-th of N parts of the inputs; all parts share OUT",
    )
    _add_ids(parser)
    _add_checks(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def _add_ids(parser: argparse.ArgumentParser) -> None:
    """Add options that decide the ids of a document."""
    parser.add_argument("--append", metavar="TOKEN", help="add this entry after every document, such as <|endoftext|>")
    parser.add_argument(
        "--no-special-tokens", action="store_true", help="leave out what the tokenizer's post-processor adds"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tokenizers",
        metavar="RELEASE",
        help="use the ids of this release, such as 1.0 (default: the stable one that transformers requires)",
    )
    which.add_argument("--stack", metavar="NAME", help="use the ids of the release in this stack, and only it")


def _add_checks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sha256", action="store_true", help="also compute the SHA-256 of all ids, as int32")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="encode more documents again as a whole, and compare: cut and large ones first, then random ones (a "
        "small share is always compared)",
    )
    parser.add_argument(
        "--verify-share", type=_share, metavar="PERCENT", help="share of the text that --verify compares (default: 5)"
    )


def _share(text: str) -> float:
    if not 0 <= (share := number(text)) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r}: a share is from 0 to 100 percent")
    return share


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r}: at least one worker, such as 4")
    return int(text)


def _shard(text: str) -> str:
    match = re.fullmatch("([0-9]{1,5})/([0-9]{1,5})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r}: it has to be I/N, with I from 1 to N, and N up to 99999")
    return text


def _is_there(name: str) -> bool:
    return os.path.lexists(os.path.expanduser(name))  # noqa: PTH111 (`~nobody` too)


def _check(arguments: argparse.Namespace) -> None:
    """Check the input as far as possible without a stack."""
    for name in arguments.inputs:
        if not (_is_there(name) or glob.has_magic(name) or "://" in name):
            raise ValueError(f"{name or repr(name)}: no such file, folder or pattern with files")
    if not arguments.out:
        raise ValueError("--out '': it has to be a folder")
    addresses = resource.getrlimit(resource.RLIMIT_AS)[0]
    if addresses != resource.RLIM_INFINITY and addresses < _ADDRESSES:
        least = _ADDRESSES // 1024
        raise ValueError(
            f"`ulimit -v` is {addresses // 1024}, and has to be {least} or more; use --memory-limit instead"
        )
    out = Path(arguments.out)
    if out.is_symlink() and not out.exists():
        raise ValueError(f"--out {out}: a link that leads nowhere")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out}: a file, and has to be a folder")


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
