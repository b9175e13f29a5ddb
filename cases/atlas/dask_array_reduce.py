# /// script
# dependencies = ["dask", "numpy"]
# ///
"""Reduces an array of 800 MB that is made chunk by chunk."""

import dask
import dask.array as da

with dask.config.set(scheduler="threads", num_workers=2):
    array = da.arange(100_000_000, chunks=1_000_000, dtype="i8")
    total = int(((array * 2 + 1).reshape(10_000, 10_000).sum(axis=0)).sum().compute())
assert total == 10**8 * (10**8 - 1) + 10**8
print(total)
