# /// script
# dependencies = ["zarr", "numpy"]
# ///
"""Writes an array of 1,000 chunks into a folder, and reads it back a chunk at a time."""

import shutil

import numpy as np
import zarr

array = zarr.open("data.zarr", mode="w", shape=(100_000, 100), chunks=(100, 100), dtype="i4")
for start in range(0, 100_000, 10_000):
    array[start : start + 10_000] = np.arange(start, start + 10_000)[:, None]
array = zarr.open("data.zarr", mode="r")
total = sum(int(array[start : start + 100][:, 0].sum()) for start in range(0, 100_000, 100))
shutil.rmtree("data.zarr")
assert total == sum(range(100_000))
print(total)
