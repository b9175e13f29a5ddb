"""A dataset of Hugging Face `datasets`, saved to disk in 8 shards."""

from datasets import Dataset, Features, List, Value


def write(rows, folder):
    features = Features({"ids": List(Value("int32"), length=rows.width), "label": Value("int64")})
    options = {"features": features, "cache_dir": str(folder / "cache"), "writer_batch_size": 1000}
    made = Dataset.from_generator(one_by_one, gen_kwargs={"rows": rows}, **options)
    made.save_to_disk(str(folder / "saved"), num_shards=min(8, rows.count))
    del made
    for left in sorted((folder / "cache").rglob("*"), reverse=True):
        left.unlink() if left.is_file() else left.rmdir()
    (folder / "cache").rmdir()


def one_by_one(rows):
    for ids, labels in rows.chunks(1000):
        for row, label in zip(ids, labels, strict=True):
            yield {"ids": row, "label": label}
