"""Vortex: a scan over a range of rows, or of rows by number."""

import numpy
import pyarrow
from loaders.how import Opened, arrays

FORMAT, KIND, SHUFFLE = "vortex", "library", "rows"


def opened(path):
    import vortex

    file = vortex.open(path)

    def read(rows):
        wanted = numpy.arange(rows.start, rows.stop) if isinstance(rows, slice) else numpy.sort(rows)
        rows_read = file.scan(indices=vortex.array(pyarrow.array(wanted.astype("uint64")))).read_all()
        return arrays(rows_read.to_arrow_table())

    return read


def make(folder, how):
    import vortex

    path = str(folder / "tokens.vortex")
    return how.blocks(Opened(len(vortex.open(path)), opened, path))
