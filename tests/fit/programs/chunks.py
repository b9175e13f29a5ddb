"""HDF5 read at random through a cache of chunks."""

import random
import sys

import h5py

folder = sys.argv[1]
options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
chance = random.Random(0)
with h5py.File(f"{folder}/rows.h5", rdcc_nbytes=options["cache_mb"] << 20, rdcc_nslots=10_007) as file:
    rows = file["rows"]
    for _ in range(options["rows"] // 50):
        start = chance.randrange(options["rows"] - options["batch"])
        rows[start : start + options["batch"]]
