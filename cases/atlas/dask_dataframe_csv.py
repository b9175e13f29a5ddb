# /// script
# dependencies = ["dask[dataframe]", "pandas", "pyarrow", "numpy"]
# ///
"""Groups a dataframe out of ten CSV files."""

import os
import shutil

import dask
import dask.dataframe as dd

os.mkdir("csv")
for part in range(10):
    with open(f"csv/{part}.csv", "w") as file:
        file.write("id,key\n" + "".join(f"{n},{n % 50}\n" for n in range(part * 50_000, (part + 1) * 50_000)))
with dask.config.set(scheduler="threads", num_workers=2):
    grouped = dd.read_csv("csv/*.csv").groupby("key")["id"].sum().compute()
shutil.rmtree("csv")
assert int(grouped.sum()) == sum(range(500_000))
print(len(grouped))
