"""Parquet by row groups: views into Arrow's memory, shuffled within groups of them."""

import pyarrow.parquet
from loaders.how import Grouped

FORMAT, KIND, SHUFFLE = "parquet", "ours", "blocks"


class Open:
    def __init__(self, path, starts):
        self.path, self.starts = path, {first: number for number, first in enumerate(starts)}

    def __call__(self):
        file = pyarrow.parquet.ParquetFile(self.path, memory_map=False, pre_buffer=False)

        def read(first, last):
            group = file.read_row_group(self.starts[first], use_threads=False).combine_chunks()
            ids, labels = (group.column(name).chunk(0) for name in ("ids", "label"))
            return ids.flatten().to_numpy().reshape(last - first, -1), labels.to_numpy()

        return read


def make(folder, how):
    path = folder / "tokens.parquet"
    found = pyarrow.parquet.read_metadata(path)
    bounds = [0]
    for number in range(found.num_row_groups):
        bounds.append(bounds[-1] + found.row_group(number).num_rows)
    return how.stream(Grouped(bounds, how, Open(path, bounds[:-1])))
