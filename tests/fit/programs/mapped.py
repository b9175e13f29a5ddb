"""`Dataset.map` in several processes."""

import sys
import tempfile

from datasets import Dataset

folder = sys.argv[1]
options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}


def words(batch):
    return {"ids": [[len(word) for word in text.split()] for text in batch["text"]]}


rows = Dataset.from_file(f"{folder}/text.arrow").select(range(options["rows"]))
with tempfile.TemporaryDirectory() as cache:
    rows.map(
        words,
        batched=True,
        batch_size=options["batch"],
        num_proc=options["processes"],
        cache_file_name=f"{cache}/mapped.arrow",
    )
