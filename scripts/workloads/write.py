"""Write a token dataset in another format, as a stream. It makes what loaders read, and is measured as a script."""

import argparse
import importlib
import time
from pathlib import Path

import events


def write(args):
    from rows import MappedRows

    module, rows = importlib.import_module(f"formats.{args.format}"), MappedRows(args.tokens_dir)
    args.out.mkdir(exist_ok=True)
    events.imported([])
    began, cpu_s = time.monotonic(), time.process_time()
    module.write(rows, args.out)
    stored = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file())
    events.number("Time to write", time.monotonic() - began, "s", "lower")
    events.number("CPU time to write", time.process_time() - cpu_s, "s", "lower")
    events.number("Stored per payload", stored / rows.bytes, "ratio", "lower", exact=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("written"), help="empty folder to write into")
    parser.add_argument("--tokens-dir", type=Path, required=True)
    parser.add_argument("--format", required=True, help="module beside this file, in formats/")
    write(parser.parse_args())


if __name__ == "__main__":
    events.run(main)
