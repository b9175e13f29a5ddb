# /// script
# dependencies = ["mosaicml-streaming", "numpy", "torch==2.13.0", "torchvision==0.28.0"]
# ///
"""Writes samples as MDS shards and reads them by index."""

import shutil

import numpy as np
from streaming import MDSWriter
from streaming.base.local import LocalDataset

with MDSWriter(out="mds", columns={"number": "int", "values": "ndarray:float32:256"}, size_limit=1 << 22) as writer:
    for number in range(10_000):
        writer.write({"number": number, "values": np.full(256, number, dtype=np.float32)})
dataset = LocalDataset("mds")
total = sum(int(dataset[int(number)]["number"]) for number in np.random.default_rng(0).permutation(10_000))
shutil.rmtree("mds")
assert total == sum(range(10_000))
print(total)
