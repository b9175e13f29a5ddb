# /// script
# dependencies = ["h5py", "numpy"]
# ///
"""Writes 8,000 small datasets with attributes into groups, and reads them all."""

import os

import h5py
import numpy as np

with h5py.File("data.h5", "w") as file:
    for number in range(8000):
        dataset = file.create_dataset(f"group{number % 80}/sample{number}", data=np.full(50, number, dtype="int64"))
        dataset.attrs["label"] = f"label {number}"
total = 0
with h5py.File("data.h5") as file:
    for group in file.values():
        for dataset in group.values():
            total += int(dataset[0]) + len(dataset.attrs["label"])
os.unlink("data.h5")
assert total == sum(number + len(f"label {number}") for number in range(8000))
print(total)
