"""Zarr 3: chunks of 256 rows, with its default compression."""

import zarr


def write(rows, folder):
    group = zarr.open_group(str(folder / "tokens.zarr"), mode="w", zarr_format=3)
    chunk = min(256, rows.count)
    ids = group.create_array("ids", shape=(rows.count, rows.width), chunks=(chunk, rows.width), dtype="int32")
    labels = group.create_array("labels", shape=(rows.count,), chunks=(min(1 << 16, rows.count),), dtype="int64")
    everything, start = [], 0
    for some, their_labels in rows.chunks(chunk * 16):
        ids[start : start + len(some)] = some
        everything.extend(their_labels)
        start += len(some)
    labels[:] = everything
