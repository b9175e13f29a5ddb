"""`python -m beyond_ram.hub (--root DIR | --upstream URL) [--port N] [--log FILE] …`: serve until interrupted."""

import argparse
import os
import signal
import sys
from pathlib import Path

from beyond_ram.hub.conditions import FAULTS, Conditions, Fault
from beyond_ram.hub.server import Hub


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m beyond_ram.hub", description="Serve a folder as a local Hub.")
    served = parser.add_mutually_exclusive_group(required=True)
    served.add_argument("--root", type=Path, help="holds datasets/ORG/NAME and models/ORG/NAME")
    served.add_argument("--upstream", metavar="URL", help="relay and log reads of another Hub")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--page-size", type=int, default=1000, help="entries per page of a listing")
    parser.add_argument("--log", type=Path, help="file for the log of requests, as JSON lines")
    parser.add_argument("--latency-ms", type=float, default=0, help="wait before each answer")
    parser.add_argument("--bandwidth-mb-s", type=float, help="megabytes per second, for all connections together")
    parser.add_argument("--redirect", action="store_true", help="redirect reads of LFS files, as the Hub does")
    parser.add_argument("--xet", action="store_true", help="offer LFS files from Xet storage, as the Hub does")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND:EVERY_NTH",
        help=f"every EVERY_NTH data read fails once; {', '.join(FAULTS)}; repeatable",
    )
    arguments = parser.parse_args()
    # A pipe, not a threading.Event: a signal handler that sets an event can deadlock with the waiting thread.
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    try:
        faults = tuple(map(Fault.parse, arguments.fault))
        network = arguments.latency_ms, arguments.bandwidth_mb_s
        conditions = Conditions(*network, arguments.redirect, faults, arguments.xet)
        root, port, size, log = (getattr(arguments, name) for name in ("root", "port", "page_size", "log"))
        with Hub(root, port, size, log, conditions, arguments.upstream) as hub:
            token = f"HF_TOKEN={hub.token}\n" if hub.token else ""
            print(f"{token}HF_ENDPOINT={hub.url}", flush=True)
            os.read(ended, 1)
    except (OSError, ValueError) as error:
        print(f"hub: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
