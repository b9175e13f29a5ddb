# /// script
# dependencies = ["h5py", "numpy"]
# ///
"""Writes a chunked, compressed dataset and reads it back in random order."""

import os

import h5py
import numpy as np

with h5py.File("data.h5", "w") as file:
    data = file.create_dataset("rows", (20_000, 1000), chunks=(200, 1000), compression="gzip", compression_opts=1,
                               dtype="int32")  # fmt: skip
    for start in range(0, 20_000, 200):
        data[start : start + 200] = np.arange(start, start + 200)[:, None]
order = np.random.default_rng(0).permutation(100)
with h5py.File("data.h5") as file:
    total = sum(int(file["rows"][200 * n : 200 * n + 200, 0].sum()) for n in order)
os.unlink("data.h5")
assert total == sum(range(20_000))
print(total)
