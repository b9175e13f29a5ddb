# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy"]
# ///
"""numpy 2.4.0, yanked: assigning to a slice of `.flat`, as `eye` does, keeps an iterator (numpy#30508)."""

import numpy as np

for _ in range(60_000):
    matrix = np.eye(4)
print(matrix.sum())
