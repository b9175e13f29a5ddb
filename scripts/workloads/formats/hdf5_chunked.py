"""HDF5 in chunks of 256 rows, 1 MB."""

from formats import hdf5

CHUNK_ROWS = 256


def write(rows, folder, **storage):
    hdf5.write(rows, folder, chunks=(min(CHUNK_ROWS, rows.count), rows.width), **storage)
