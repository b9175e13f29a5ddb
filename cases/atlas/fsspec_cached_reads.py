# /// script
# dependencies = ["fsspec"]
# ///
"""Reads a file of 64 MB in small pieces through fsspec's read-ahead and block caches."""

import os
import zlib

import fsspec

with open("data.bin", "wb") as file:
    for number in range(64):
        file.write(bytes([number]) * (1 << 20))
sums = []
for how in ("readahead", "blockcache", "bytes"):
    with fsspec.open("simplecache::file://" + os.path.abspath("data.bin"), "rb",
                     simplecache={"cache_storage": "cache"}, file={"cache_type": how}) as file:  # fmt: skip
        crc = 0
        while piece := file.read(4096):
            crc = zlib.crc32(piece, crc)
        sums.append(crc)
os.unlink("data.bin")
import shutil  # noqa: E402

shutil.rmtree("cache")
assert len(set(sums)) == 1
print(sums[0])
