# /// script
# dependencies = ["datasets", "pyarrow", "pandas", "numpy"]
# ///
"""Maps a function over 200,000 rows in batches, without a cache from before."""

import os

os.environ["HF_HOME"] = os.path.abspath("home")
os.environ["HF_HUB_OFFLINE"] = "1"
import shutil

from datasets import Dataset

rows = Dataset.from_dict({"id": list(range(200_000)), "text": [f"some text {n}" for n in range(200_000)]})
mapped = rows.map(lambda batch: {"length": [len(text) for text in batch["text"]]}, batched=True)
total = sum(mapped["length"])
shutil.rmtree("home", ignore_errors=True)
assert total == sum(len(f"some text {n}") for n in range(200_000))
print(total)
