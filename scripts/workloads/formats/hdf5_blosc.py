"""HDF5 in chunks of 256 rows, compressed by Blosc2 with Zstandard through hdf5plugin."""

import hdf5plugin
from formats import hdf5_chunked


def write(rows, folder):
    hdf5_chunked.write(rows, folder, **hdf5plugin.Blosc2(cname="zstd", clevel=3, filters=hdf5plugin.Blosc2.SHUFFLE))
