# /// script
# dependencies = ["webdataset", "numpy"]
# ///
"""Writes 6,000 samples into tars and reads them with a shuffle buffer."""

import os

import webdataset

with webdataset.ShardWriter("shard-%03d.tar", maxcount=1500, verbose=0) as writer:
    for number in range(6000):
        writer.write({"__key__": f"{number:06d}", "bin": bytes([number % 256]) * 20_000, "cls": number % 10})
shards = sorted(name for name in os.listdir() if name.startswith("shard-"))
dataset = webdataset.WebDataset(shards, shardshuffle=False).shuffle(500).decode()
total = count = 0
for sample in dataset:
    total, count = total + sample["cls"], count + 1
for shard in shards:
    os.unlink(shard)
assert (count, total) == (6000, 27_000)
print(count, total)
