"""The engine with units and long documents of an eighth of their size, so that tests encode less. Run it as run.py."""

import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[2] / "beyond_ram/tokenize/engine")
import inputs  # noqa: E402
import run  # noqa: E402

inputs.SMALLEST //= 8
inputs.HUGE //= 8

if __name__ == "__main__":
    status = run.main()
    sys.stdout.flush()
    os._exit(status)
