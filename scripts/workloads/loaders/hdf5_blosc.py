"""HDF5 in compressed chunks, read whole chunks at a time."""

from loaders import hdf5_blocks

FORMAT, KIND, SHUFFLE = "hdf5_blosc", "ours", "blocks"


def opened(path):
    import hdf5plugin  # noqa: F401  registers its filters, in the process that reads

    return hdf5_blocks.opened(path)


def make(folder, how):
    return hdf5_blocks.make(folder, how, opened)
