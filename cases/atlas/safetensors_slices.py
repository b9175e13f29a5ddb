# /// script
# dependencies = ["safetensors", "numpy"]
# ///
"""Reads slices of the tensors of an open file, as sharded loading does."""

import os

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

save_file({f"t{n}": np.full((500, 1000), n, dtype=np.float32) for n in range(100)}, "model.safetensors")
total = 0.0
for _ in range(5):
    with safe_open("model.safetensors", framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (it is no dict)
            total += float(file.get_slice(name)[100:200, :500].sum())
os.unlink("model.safetensors")
assert total == 5 * sum(range(100)) * 100 * 500
print(total)
