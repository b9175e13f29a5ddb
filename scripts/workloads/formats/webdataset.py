"""WebDataset: tar files of at most 2,000 samples, ids as .npy, the label as .cls."""

import webdataset


def write(rows, folder):
    number = 0
    with webdataset.ShardWriter(str(folder / "tokens-%05d.tar"), maxcount=shard_rows(rows), verbose=0) as sink:
        for ids, labels in rows.chunks(1000):
            for row, label in zip(ids, labels, strict=True):
                sink.write({"__key__": f"{number:09d}", "ids.npy": row, "cls": int(label)})
                number += 1


def shard_rows(rows):
    """Rows per shard, such that there are at least eight shards and every worker has some."""
    return max(1, min(2000, -(-rows.count // 8)))
