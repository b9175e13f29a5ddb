# /// script
# dependencies = ["webdataset", "numpy"]
# ///
"""Reads tars of arrays and JSON, decodes and maps each sample, and makes batches."""

import os

import numpy as np
import webdataset

with webdataset.ShardWriter("shard-%03d.tar", maxcount=1000, verbose=0) as writer:
    for number in range(4000):
        array = np.full(500, number, dtype="int32")
        writer.write({"__key__": f"{number:06d}", "npy": array, "json": {"label": number % 10}})
shards = sorted(name for name in os.listdir() if name.startswith("shard-"))
dataset = webdataset.WebDataset(shards, shardshuffle=False).decode().to_tuple("npy", "json")
dataset = dataset.map_tuple(lambda array: array[:100], lambda document: document["label"]).batched(64)
total = labels = 0
for arrays, numbers in dataset:
    total, labels = total + int(np.sum(arrays)), labels + int(np.sum(numbers))
for shard in shards:
    os.unlink(shard)
assert (total, labels) == (100 * 4000 * 3999 // 2, 18_000)
print(total, labels)
