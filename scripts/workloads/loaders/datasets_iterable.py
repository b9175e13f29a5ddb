"""Hugging Face `datasets` from disk as an iterable dataset: shards for workers, a buffer when shuffled."""

from loaders.datasets_map import collate
from torch.utils.data import DataLoader

FORMAT, KIND, SHUFFLE = "datasets", "library", "buffer"
BUFFER_ROWS, SHARDS = 1000, 64


def make(folder, how):
    from datasets import load_from_disk
    from datasets.distributed import split_dataset_by_node

    whole = load_from_disk(str(folder / "saved"))
    dataset = whole.to_iterable_dataset(num_shards=min(SHARDS, len(whole))).with_format("torch")
    if how.shuffled:
        dataset = dataset.shuffle(seed=how.seed, buffer_size=BUFFER_ROWS)
    if how.ranks > 1:
        dataset = split_dataset_by_node(dataset, how.rank, how.ranks)
    return how.own(DataLoader, dataset, collate)
