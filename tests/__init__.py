"""Keep bytecode. This must be set before other imports."""

import os
import sys

# If the environment forbids bytecode, each of the hundreds of interpreters that tests start would compile pandas, torch
# or Snakemake anew: 1 to 3 s of CPU time each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
