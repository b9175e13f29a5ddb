"""A streaming shuffle: its buffer fills, and memory reaches a level."""

import sys

from datasets import Dataset

folder = sys.argv[1]
options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
stream = Dataset.from_file(f"{folder}/text.arrow").select(range(options["rows"])).to_iterable_dataset()
for _ in stream.shuffle(seed=0, buffer_size=options["buffer"]):
    pass
