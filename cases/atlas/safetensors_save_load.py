# /// script
# dependencies = ["safetensors", "numpy"]
# ///
"""Saves 200 MB of tensors to a file and loads them back, whole."""

import os
import zlib

import numpy as np
from safetensors.numpy import load_file, save_file

tensors = {f"layer.{n}": np.full((500, 1000), n, dtype=np.float32) for n in range(100)}
save_file(tensors, "model.safetensors")
del tensors
loaded = load_file("model.safetensors")
os.unlink("model.safetensors")
assert len(loaded) == 100 and all(float(tensor[3, 4]) == int(name[6:]) for name, tensor in loaded.items())
print(zlib.crc32(loaded["layer.7"].tobytes()))
