# /// script
# dependencies = ["pandas", "numpy"]
# ///
"""Reads a CSV of 500,000 rows with text, groups and merges it."""

import io

import pandas as pd

text = "id,key,text\n" + "".join(f"{n},{n % 100},some text {n % 1000}\n" for n in range(500_000))
table = pd.read_csv(io.StringIO(text))
grouped = table.groupby("key", as_index=False)["id"].sum()
merged = table.merge(grouped, on="key", suffixes=("", "_sum"))
assert len(merged) == 500_000 and int(grouped["id"].sum()) == sum(range(500_000))
print(int(merged["id_sum"].iloc[0]), table["text"].nunique())
