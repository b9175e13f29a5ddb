"""Set before anything else is imported: bytecode is kept."""

import os
import sys

# Where the environment forbids it, each of the hundreds of interpreters that tests start would compile pandas, torch or
# Snakemake anew: 1 to 3 s of CPU each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
