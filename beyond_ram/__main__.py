"""The start of the command `beyond-ram`."""

import signal
import sys


def main() -> int:
    """Run the command. While it is imported, Ctrl-C ends this process at once, and shows nothing of ours."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as run

    signal.signal(signal.SIGINT, before)
    return run()


if __name__ == "__main__":
    sys.exit(main())
