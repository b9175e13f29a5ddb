# /// script
# dependencies = ["h5py", "numpy"]
# ///
"""Appends 200,000 texts of variable length to a dataset that grows, and reads them in slices."""

import os

import h5py
import numpy as np

with h5py.File("text.h5", "w") as file:
    texts = file.create_dataset("texts", (0,), maxshape=(None,), chunks=(2000,), dtype=h5py.string_dtype())
    for start in range(0, 200_000, 5000):
        texts.resize((start + 5000,))
        texts[start:] = np.array([f"text {n} " * (n % 5 + 1) for n in range(start, start + 5000)], dtype=object)
length = 0
with h5py.File("text.h5") as file:
    for start in range(0, 200_000, 5000):
        length += sum(map(len, file["texts"].asstr()[start : start + 5000]))
os.unlink("text.h5")
assert length == sum(len(f"text {n} ") * (n % 5 + 1) for n in range(200_000))
print(length)
