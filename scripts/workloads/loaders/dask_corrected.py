"""Parquet through Dask, corrected: a partition a row group, computed without threads by who delivers it.

A partition as it comes is a file, whatever its size: an eighth of the data here, held several times while it is turned
into an array.
"""

import dask.dataframe
import numpy
import pyarrow.parquet
from loaders.how import Grouped

FORMAT, KIND, SHUFFLE = "parquet_parts", "corrected", "blocks"


class Open:
    def __init__(self, folder, starts):
        self.folder, self.starts = folder, starts

    def __call__(self):
        frame = dask.dataframe.read_parquet(self.folder, split_row_groups=True)

        def read(first, _):
            part = frame.get_partition(self.starts.index(first)).compute(scheduler="synchronous")
            return numpy.stack(part["ids"].to_list()), part["label"].to_numpy()

        return read


def make(folder, how):
    described = [pyarrow.parquet.read_metadata(path) for path in sorted(folder.glob("*.parquet"))]
    counts = [file.row_group(number).num_rows for file in described for number in range(file.num_row_groups)]
    bounds = numpy.cumsum([0, *counts]).tolist()
    return how.stream(Grouped(bounds, how, Open(folder, bounds[:-1])))
