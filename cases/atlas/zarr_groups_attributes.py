# /// script
# dependencies = ["zarr", "numpy"]
# ///
"""Writes 300 arrays with attributes into groups of a folder, opens it again and reads them all."""

import shutil

import numpy as np
import zarr

root = zarr.open_group("groups.zarr", mode="w")
for number in range(300):
    root[f"part{number % 10}/sample{number}"] = np.full(1000, number, dtype="i4")
    root[f"part{number % 10}/sample{number}"].attrs["label"] = f"label {number}"
root = zarr.open_group("groups.zarr", mode="r")
total = 0
for number in range(300):
    array = root[f"part{number % 10}/sample{number}"]
    total += int(array[:].sum()) + len(array.attrs["label"])
shutil.rmtree("groups.zarr")
assert total == sum(1000 * number + len(f"label {number}") for number in range(300))
print(total)
