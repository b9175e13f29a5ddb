"""Conditions that are constant within a session, drawn for every run from a seed in its record.

Mytkowicz et al. (2009, doi:10.1145/1508244.1508275) on the size of the environment; Curtsinger and Berger (Stabilizer,
2013, doi:10.1145/2451116.2451141) and Kalibera and Jones (2013, doi:10.1145/2464157.2464160) on drawing it.
"""

import random
from pathlib import Path
from typing import Any

# It moves the stack by up to a page.
_MOST_PADDING = 4096
_PADDING = "BEYOND_RAM_PADDING"


def environment(seed: int) -> dict[str, str]:
    """The variables of a run: the seed of Python's hashes, and one that only takes room."""
    drawn = random.Random(seed)
    return {"PYTHONHASHSEED": str(drawn.randrange(1 << 32)), _PADDING: "x" * drawn.randrange(_MOST_PADDING)}


def provenance(seed: int, variables: dict[str, str]) -> dict[str, Any]:
    """The entry of run.json. The kernel randomises heap and stack itself, unless `aslr` is 0."""
    drawn = {"seed": seed, "hash_seed": variables["PYTHONHASHSEED"], "padding_bytes": len(variables[_PADDING])}
    return drawn | {"aslr": _aslr()}


def _aslr() -> int | None:
    """2: the kernel places stack, maps and heap at random; 0: nothing; None if unknown."""
    try:
        return int(Path("/proc/sys/kernel/randomize_va_space").read_text())
    except (OSError, ValueError):
        return None
