# /// script
# dependencies = ["zarr", "numpy"]
# ///
"""Reads 1,000 rows of an array in memory in random order, as a data loader does."""

import numpy as np
import zarr

rows = np.arange(20_000, dtype="i4")[:, None] + np.zeros((1, 64), dtype="i4")
array = zarr.array(rows, chunks=(50, 64))
order = np.random.default_rng(0).integers(0, 20_000, 1000)
total = sum(int(array[int(number)][0]) for number in order)
assert total == int(order.sum())
print(total)
