"""The options of `beyond-ram tokenize`, for the command and for the engine. Standard library only."""

import argparse
import math
import re
from collections.abc import Callable

FORMATS = {"bin": ".bin", "datasets": ".arrow", "parquet": ".parquet"}


def add_to(parser: argparse.ArgumentParser, size: Callable[[str], int] = int) -> None:
    """Add the options; `size` reads a size. The command has further ones, which choose the engine's interpreter."""
    add = parser.add_argument
    inputs = (
        "files, folders or quoted patterns, in order; also of stores, such as hf://datasets/USER/NAME or s3://BUCKET"
    )
    add("inputs", nargs="+", metavar="INPUT", help=inputs)
    tokenizer = "a tokenizer.json, or a folder with one; for others, prints the command that converts it"
    add("--tokenizer", required=True, help=tokenizer)
    add("--out", required=True, help="folder for the result")
    form = "datasets: load_from_disk opens it; bin: uint16 or uint32 with Megatron's index (default: datasets)"
    add("--format", choices=tuple(FORMATS), default="datasets", help=form)
    add("--workers", type=_count, metavar="N", help="processes (default: one per core)")
    limit = "limit of anonymous memory of all processes, such as 500M or 2G"
    add("--memory-limit", type=size, metavar="SIZE", help=limit)
    add("--text-column", default="text", metavar="C", help="column with the text (default: text)")
    shard = "do the I-th of N parts of the inputs; all parts share OUT"
    add("--shard", type=_shard, default="1/1", metavar="I/N", help=shard)
    add("--append", metavar="TOKEN", help="add this entry after every document, such as <|endoftext|>")
    special = "leave out what the tokenizer's post-processor adds"
    add("--no-special-tokens", action="store_true", help=special)
    add("--sha256", action="store_true", help="also compute the SHA-256 of all ids, as int32")
    verify = "encode more documents again as a whole, and compare: cut and large ones first, then random ones (a small "
    add("--verify", action="store_true", help=f"{verify}share is always compared)")
    share = "share of the text that --verify compares (default: 5)"
    add("--verify-share", type=_share, metavar="PERCENT", help=share)
    add("--json", action="store_true", help="print the summary as JSON")


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 100:
        raise argparse.ArgumentTypeError(f"{text!r}: a share is from 0 to 100 percent")
    return share


def _count(text: str) -> int:
    if not re.fullmatch("[0-9]+", text) or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r}: at least one worker, such as 4")
    return int(text)


def _shard(text: str) -> str:
    match = re.fullmatch("([0-9]{1,5})/([0-9]{1,5})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r}: it has to be I/N, with I from 1 to N, and N up to 99999")
    return text
