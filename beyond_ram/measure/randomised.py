"""Conditions that are constant within a session. They are drawn for every run from a seed in its record.

Mytkowicz et al. (2009, doi:10.1145/1508244.1508275) on the size of the environment; Curtsinger and Berger (Stabilizer,
2013, doi:10.1145/2451116.2451141) and Kalibera and Jones (2013, doi:10.1145/2464157.2464160) on randomisation.
"""

import random

# Moves the stack by up to a page.
_MOST_PADDING = 4096
_PADDING = "BEYOND_RAM_PADDING"


def environment(seed: int) -> dict[str, str]:
    """Environment variables of a run: the seed of Python's hashes, and padding that moves the stack."""
    drawn = random.Random(seed)
    return {"PYTHONHASHSEED": str(drawn.randrange(1 << 32)), _PADDING: "x" * drawn.randrange(_MOST_PADDING)}
