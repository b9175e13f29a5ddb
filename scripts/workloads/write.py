"""Workload `write`: write a token dataset in another format, as a stream."""

import argparse
import importlib
import json
from pathlib import Path

import events
import release
from load import LIBRARIES, stored_bytes


def write(args):
    """Write the dataset. Returns the objects kept at the end, by owner."""
    events.phase("import")
    from rows import Rows

    module = importlib.import_module(f"formats.{args.format}")
    rows = Rows(args.tokens_dir)
    release.imported(LIBRARIES)
    folder = args.out or args.work_dir / args.format
    folder.mkdir(exist_ok=folder == args.out)
    events.phase("write")
    module.write(rows, folder)
    written = {"rows": rows.count, "bytes_in": rows.bytes, "stored_bytes": stored_bytes(folder)}
    events.mark("work", **written, **events.own_memory())
    print(json.dumps(written))
    return {"writer": [module]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-dir", type=Path, help="empty folder, in which one named after the format is made")
    parser.add_argument("--out", type=Path, help="empty folder to write into instead")
    parser.add_argument("--tokens-dir", type=Path, required=True)
    parser.add_argument("--format", required=True, help="module beside this file, in formats/")
    release.teardown(write(parser.parse_args()))


if __name__ == "__main__":
    events.run(main)
