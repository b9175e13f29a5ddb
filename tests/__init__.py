"""Before other imports: keep bytecode, and let uv find an interpreter without a shim of pyenv (0.2 s of CPU a call)."""

import os
import sys

# If the environment forbids bytecode, each of the hundreds of interpreters that tests start would compile pandas, torch
# or Snakemake anew: 1 to 3 s of CPU time each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["PATH"] = f"{sys.prefix}/bin:{sys.base_prefix}/bin:{os.environ['PATH']}"
