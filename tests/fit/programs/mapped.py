"""`Dataset.map` in several processes."""

import sys
import tempfile

from datasets import Dataset

folder = sys.argv[1]
given = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}


def words(batch):
    return {"ids": [[len(word) for word in text.split()] for text in batch["text"]]}


rows = Dataset.from_file(f"{folder}/text.arrow").select(range(given["rows"]))
with tempfile.TemporaryDirectory() as cache:
    rows.map(
        words,
        batched=True,
        batch_size=given["batch"],
        num_proc=given["processes"],
        cache_file_name=f"{cache}/mapped.arrow",
    )
