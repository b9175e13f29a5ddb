# /// script
# dependencies = ["safetensors", "numpy"]
# ///
"""Turns 80 MB of tensors into bytes and back, ten times, as a transfer between processes does."""

import numpy as np
from safetensors.numpy import load, save

tensors = {f"t{n}": np.arange(n, n + 1_000_000, dtype=np.int32) for n in range(20)}
for _ in range(10):
    data = save(tensors)
    tensors = load(data)
assert len(tensors) == 20 and all(int(tensor[-1]) == int(name[1:]) + 999_999 for name, tensor in tensors.items())
print(len(tensors), int(tensors["t3"].sum()))
