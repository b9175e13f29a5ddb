"""MosaicML MDS: shards of 16 MiB."""

from loaders.mds import streaming

STACK = "loaders-mds"


def write(rows, folder):
    columns = {"ids": "ndarray:int32", "label": "int"}
    with streaming().MDSWriter(out=str(folder / "mds"), columns=columns, size_limit=1 << 24) as writer:
        for ids, labels in rows.chunks(1000):
            for row, label in zip(ids, labels, strict=True):
                writer.write({"ids": row, "label": int(label)})
