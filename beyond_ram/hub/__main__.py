"""`python -m beyond_ram.hub --root DIR [--port N] [--log FILE]`: serves until interrupted."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from beyond_ram.hub.server import LOOPBACK, Hub


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m beyond_ram.hub", description="Serves a folder as a local Hub.")
    parser.add_argument("--root", required=True, type=Path, help="holds datasets/ORG/NAME and models/ORG/NAME")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--host", default=LOOPBACK, help=f"{LOOPBACK}; anything else is refused")
    parser.add_argument("--page-size", type=int, default=1000, help="entries in a page of a tree")
    parser.add_argument("--log", type=Path, help="file for the requests, a line of JSON each")
    arguments = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with Hub(arguments.root, arguments.port, arguments.host, arguments.page_size, arguments.log) as hub:
            print(f"HF_ENDPOINT={hub.url}", flush=True)
            stop.wait()
    except (OSError, ValueError) as error:
        print(f"hub: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
