# /// script
# dependencies = ["dask[bag]"]
# ///
"""Counts words of generated lines with a bag, on threads."""

import dask
import dask.bag

with dask.config.set(scheduler="threads", num_workers=2):
    bag = dask.bag.range(200_000, npartitions=40).map(lambda n: f"word{n % 1000} and word{n % 7}")
    counts = dict(bag.map(str.split).flatten().frequencies().compute())
assert counts["and"] == 200_000
print(len(counts))
