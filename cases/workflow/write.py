"""Write a token dataset in another format, as a stream. It makes what loaders read, and is measured as a script."""

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from phases import not_applicable, number

# The formats, and the rows of a token dataset.
sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "workloads"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("written"), help="empty folder to write into")
    parser.add_argument("--tokens-dir", type=Path, required=True)
    parser.add_argument("--format", required=True, help="module of formats/")
    args = parser.parse_args()
    from rows import MappedRows

    try:
        module = importlib.import_module(f"formats.{args.format}")
    except ImportError as error:
        if "BEYOND_RAM_EVENTS" not in os.environ:
            raise
        not_applicable(str(error))
    rows = MappedRows(args.tokens_dir)
    args.out.mkdir(exist_ok=True)
    began, cpu_s = time.monotonic(), time.process_time()
    module.write(rows, args.out)
    stored = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file())
    number("Time to write", time.monotonic() - began, "s", "lower")
    number("CPU time to write", time.process_time() - cpu_s, "s", "lower")
    number("Stored per payload", stored / rows.bytes, "ratio", "lower", exact=True)


if __name__ == "__main__":
    main()
