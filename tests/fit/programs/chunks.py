"""HDF5 read at random through a cache of chunks."""

import random
import sys

import h5py

folder = sys.argv[1]
given = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
chance = random.Random(0)
with h5py.File(f"{folder}/rows.h5", rdcc_nbytes=given["cache_mb"] << 20, rdcc_nslots=10_007) as file:
    rows = file["rows"]
    for _ in range(given["rows"] // 50):
        start = chance.randrange(given["rows"] - given["batch"])
        rows[start : start + given["batch"]]
