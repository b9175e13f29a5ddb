# /// script
# dependencies = ["safetensors", "numpy"]
# ///
"""Lists names, shapes and metadata of a file of 2,000 small tensors, ten times, without its data."""

import os

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

tensors = {f"block.{n // 10}.weight.{n % 10}": np.full(4, n, dtype=np.float32) for n in range(2000)}
save_file(tensors, "model.safetensors", metadata={"format": "np", "rows": "2000"})
numbers = 0
for _ in range(10):
    with safe_open("model.safetensors", framework="numpy") as file:
        metadata = file.metadata()
        numbers += sum(file.get_slice(name).get_shape()[0] for name in file.keys())  # noqa: SIM118 (it is no dict)
os.unlink("model.safetensors")
assert metadata["rows"] == "2000" and numbers == 10 * 2000 * 4
print(numbers)
