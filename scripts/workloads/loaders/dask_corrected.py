"""Parquet through Dask, corrected: partitions of a few row groups, computed without threads by who delivers them.

A partition as it comes is a file, whatever its size: an eighth of the data here, held several times while it is turned
into an array.
"""

import dask.dataframe
import numpy
import pyarrow.parquet
from loaders.how import Grouped

FORMAT, KIND, SHUFFLE = "parquet_parts", "corrected", "blocks"
ROW_GROUPS = 8


class Open:
    def __init__(self, folder, starts):
        self.folder, self.starts = folder, starts

    def __call__(self):
        frame = dask.dataframe.read_parquet(self.folder, split_row_groups=ROW_GROUPS)

        def read(first, _):
            part = frame.get_partition(self.starts.index(first)).compute(scheduler="synchronous")
            return numpy.stack(part["ids"].to_list()), part["label"].to_numpy()

        return read


def make(folder, how):
    counts = []
    for path in sorted(folder.glob("*.parquet")):
        described = pyarrow.parquet.read_metadata(path)
        groups = [described.row_group(number).num_rows for number in range(described.num_row_groups)]
        counts += [sum(groups[first : first + ROW_GROUPS]) for first in range(0, len(groups), ROW_GROUPS)]
    bounds = numpy.cumsum([0, *counts]).tolist()
    return how.stream(Grouped(bounds, how, Open(folder, bounds[:-1])))
