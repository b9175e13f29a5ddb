"""Distances of all pairs: memory grows with the square of the rows."""

import sys

import numpy as np

folder = sys.argv[1]
options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
rows = np.load(f"{folder}/rows.npy", mmap_mode="r")[: options["rows"], : options["width"]]
rows = np.asarray(rows)
squares = (rows**2).sum(axis=1)
distances = squares[:, None] + squares[None, :] - 2 * rows @ rows.T
