"""HDF5 in compressed chunks, read whole chunks at a time."""

from loaders import hdf5_blocks

FORMAT, KIND, SHUFFLE = "hdf5_blosc", "ours", "blocks"


class Open(hdf5_blocks.Open):
    def __call__(self):
        import hdf5plugin  # noqa: F401  registers its filters, in the process that reads

        return super().__call__()


def make(folder, how):
    return hdf5_blocks.make(folder, how, Open)
