# /// script
# dependencies = ["pandas", "numpy", "pyarrow"]
# ///
"""Holds and transforms a column of a million short texts."""

import pandas as pd

table = pd.DataFrame({"text": [f"Row number {n % 50_000}" for n in range(1_000_000)]})
upper = table["text"].str.upper().str.replace("NUMBER", "#")
counts = upper.value_counts()
assert len(counts) == 50_000 and int(counts.iloc[0]) == 20
print(len(counts))
