"""A DataLoader over an Arrow file, as `datasets` maps it."""

import sys

from datasets import Dataset
from torch.utils.data import DataLoader

folder = sys.argv[1]
given = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
rows = Dataset.from_file(f"{folder}/text.arrow").select(range(given["rows"]))
for _ in DataLoader(rows, given["batch"], shuffle=True, num_workers=given["workers"]):
    pass
