# /// script
# dependencies = ["datasets", "pyarrow", "pandas", "numpy"]
# ///
"""Filters rows, saves the rest to a folder and loads it back."""

import os

os.environ["HF_HOME"] = os.path.abspath("home")
os.environ["HF_HUB_OFFLINE"] = "1"
import shutil

from datasets import Dataset, load_from_disk

rows = Dataset.from_dict({"id": list(range(150_000)), "values": [[n, n + 1, n + 2] for n in range(150_000)]})
rows.filter(lambda row: row["id"] % 3 == 0).save_to_disk("saved")
again = load_from_disk("saved")
total = sum(sum(batch["id"]) for batch in again.iter(batch_size=1000))
shutil.rmtree("home", ignore_errors=True)
shutil.rmtree("saved")
assert total == sum(range(0, 150_000, 3))
print(total)
