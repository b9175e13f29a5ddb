# /// script
# dependencies = ["datasets", "pyarrow", "pandas", "numpy"]
# ///
"""Builds a dataset of 200,000 rows out of JSON Lines and reads it by row."""

import os

os.environ["HF_HOME"] = os.path.abspath("home")
os.environ["HF_HUB_OFFLINE"] = "1"
import json
import shutil

from datasets import load_dataset

with open("rows.jsonl", "w") as file:
    for number in range(200_000):
        file.write(json.dumps({"id": number, "text": f"some text {number} " * 5}) + "\n")
rows = load_dataset("json", data_files="rows.jsonl", split="train")
total = sum(rows[number]["id"] for number in range(0, 200_000, 20))
os.unlink("rows.jsonl")
shutil.rmtree("home", ignore_errors=True)
assert total == sum(range(0, 200_000, 20))
print(total)
