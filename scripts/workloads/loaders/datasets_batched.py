"""Hugging Face `datasets` from disk, a batch at a time through Arrow."""

from loaders.how import Batches
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "datasets", "ours", "rows"


class Batched(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset.with_format("arrow")

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, rows):
        table = self.dataset[rows].combine_chunks()
        ids = table["ids"].chunk(0).flatten().to_numpy().reshape(table.num_rows, -1)
        return ids, table["label"].chunk(0).to_numpy()


def make(folder, how):
    from datasets import load_from_disk

    dataset = Batched(load_from_disk(str(folder / "saved")))
    return how.blocks(dataset, Batches(len(dataset), how))
