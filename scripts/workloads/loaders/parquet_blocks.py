"""Parquet by row groups: views into Arrow's memory, shuffled within groups of row groups."""

import numpy
import pyarrow.parquet
from loaders.how import Grouped, arrays

FORMAT, KIND, SHUFFLE = "parquet", "ours", "blocks"


def opened(path, starts):
    file = pyarrow.parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
    numbers = {first: number for number, first in enumerate(starts)}
    return lambda first, _: arrays(file.read_row_group(numbers[first], use_threads=False))


def bounds_of(*paths):
    """The first rows of the row groups of some files in turn, and the end."""
    described = [pyarrow.parquet.read_metadata(path) for path in paths]
    counts = [file.row_group(number).num_rows for file in described for number in range(file.num_row_groups)]
    return numpy.cumsum([0, *counts]).tolist()


def make(folder, how):
    path = folder / "tokens.parquet"
    bounds = bounds_of(path)
    return how.stream(Grouped(bounds, how, opened, path, bounds[:-1]))
