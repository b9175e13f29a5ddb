"""Lance: rows taken by number."""

from loaders.how import Batches
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "lance", "library", "rows"


class Lance(Dataset):
    def __init__(self, path):
        self.path, self.dataset = path, None
        self.count = self.open().count_rows()

    def __getstate__(self):
        return {**self.__dict__, "dataset": None}

    def __len__(self):
        return self.count

    def open(self):
        import lance

        return lance.dataset(str(self.path))

    def __getitem__(self, rows):
        # Opened by the process that reads: its threads do not survive a fork.
        self.dataset = self.dataset or self.open()
        if isinstance(rows, slice):
            table = self.dataset.to_table(offset=rows.start, limit=rows.stop - rows.start).combine_chunks()
        else:
            table = self.dataset.take(rows).combine_chunks()
        ids, labels = (table[name].chunk(0) for name in ("ids", "label"))
        return ids.flatten().to_numpy().reshape(table.num_rows, -1), labels.to_numpy()


def make(folder, how):
    if how.workers and how.start == "fork":
        how.cannot("Lance's own threads do not survive a fork; its documentation asks for spawn or forkserver")
    dataset = Lance(folder / "tokens.lance")
    return how.blocks(dataset, Batches(len(dataset), how))
