"""Vortex: one file of fixed-size lists."""

import vortex
from formats import arrow_columns


def write(rows, folder):
    vortex.io.write(arrow_columns.reader(rows), str(folder / "tokens.vortex"))
