"""HDF5, contiguous."""

import h5py


def write(rows, folder, **storage):
    with h5py.File(folder / "tokens.h5", "w") as file:
        ids = file.create_dataset("ids", (rows.count, rows.width), "i4", **storage)
        labels = file.create_dataset("labels", (rows.count,), "i8")
        rows.fill(ids, labels)
