# /// script
# requires-python = ">=3.11"
# dependencies = ["datasets"]
# ///
"""datasets 3.3.0: `filter` reads row by row what it read in batches (huggingface/datasets#7404, fixed in 3.3.1)."""

import datasets

datasets.disable_progress_bars()
rows = datasets.Dataset.from_dict({"number": list(range(40_000)), "text": ["some words"] * 40_000})
print(len(rows.filter(lambda number: number % 2 == 0, input_columns="number", load_from_cache_file=False)))
