# /// script
# dependencies = ["datasets", "pyarrow", "pandas", "numpy"]
# ///
"""Shuffles 300,000 rows by an index and iterates over them in batches."""

import os

os.environ["HF_HOME"] = os.path.abspath("home")
os.environ["HF_HUB_OFFLINE"] = "1"
import shutil

from datasets import Dataset

rows = Dataset.from_dict({"id": list(range(300_000)), "text": [f"text {n}" for n in range(300_000)]})
total = sum(sum(batch["id"]) for batch in rows.shuffle(seed=0).iter(batch_size=1000))
shutil.rmtree("home", ignore_errors=True)
assert total == sum(range(300_000))
print(total)
