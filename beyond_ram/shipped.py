"""Files that ship with the package but are not modules of it: workloads, locks, cases, the atlas."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
IN_CHECKOUT = (CHECKOUT / "Snakefile").is_file()
PACKAGE = CHECKOUT
"""The folder of the package `beyond_ram`."""
FILES = CHECKOUT if IN_CHECKOUT else Path(__file__).parent / "shipped"
"""The folder of these files: the checkout, or, in an installed package, copies in the same places below it."""
