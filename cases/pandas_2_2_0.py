# /// script
# requires-python = ">=3.11"
# dependencies = ["pandas", "numpy<2"]
# ///
"""pandas 2.2.0: after one masked assignment, each `read_csv` keeps memory (pandas-dev/pandas#57039, fixed in 2.2.1)."""

import io

import numpy as np
import pandas as pd

values = np.ones((2700, 610))
values[values < 0] = np.nan
text = "a,b\n" + "1,2\n" * 10_000
for _ in range(500):
    table = pd.read_csv(io.StringIO(text))
print(table.shape)
