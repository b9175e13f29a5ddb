"""A DataLoader over an Arrow file, as `datasets` maps it."""

import sys

from datasets import Dataset
from torch.utils.data import DataLoader

folder = sys.argv[1]
options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
rows = Dataset.from_file(f"{folder}/text.arrow").select(range(options["rows"]))
for _ in DataLoader(rows, options["batch"], shuffle=True, num_workers=options["workers"]):
    pass
