# /// script
# dependencies = ["dask"]
# ///
"""Builds and runs a graph of 20,000 delayed calls on two threads."""

import dask


@dask.delayed(pure=False)
def add(left, right):
    return left + right


values = [add(n, 1) for n in range(10_000)]
while len(values) > 1:
    values = [add(*pair) for pair in zip(values[::2], values[1::2], strict=False)] + values[len(values) // 2 * 2 :]
(total,) = dask.compute(values[0], scheduler="threads", num_workers=2)
assert total == 10_000 * 10_001 // 2
print(total)
