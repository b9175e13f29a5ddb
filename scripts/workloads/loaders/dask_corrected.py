"""Parquet through Dask, corrected: a partition per row group, computed without threads by the process that delivers it.

By default a partition is a file of any size: here an eighth of the data, in memory several times while it becomes an
array.
"""

import dask.dataframe
import numpy
from loaders.how import Grouped
from loaders.parquet_blocks import bounds_of

FORMAT, KIND, SHUFFLE = "parquet_parts", "corrected", "blocks"


def opened(folder, starts):
    frame = dask.dataframe.read_parquet(folder, split_row_groups=True)

    def read(first, _):
        part = frame.get_partition(starts.index(first)).compute(scheduler="synchronous")
        return numpy.stack(part["ids"].to_list()), part["label"].to_numpy()

    return read


def make(folder, how):
    bounds = bounds_of(*sorted(folder.glob("*.parquet")))
    return how.stream(Grouped(bounds, how, opened, folder, bounds[:-1]))
