"""Vortex: a scan over a range of rows, or of rows by number."""

import numpy
import pyarrow
from loaders.how import Batches
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "vortex", "library", "rows"


class Vortex(Dataset):
    def __init__(self, path):
        self.path, self.file = path, None
        self.count = len(self.open())

    def __getstate__(self):
        return {**self.__dict__, "file": None}

    def __len__(self):
        return self.count

    def open(self):
        import vortex

        return vortex.open(str(self.path))

    def __getitem__(self, rows):
        import vortex

        self.file = self.file or self.open()
        wanted = numpy.arange(rows.start, rows.stop) if isinstance(rows, slice) else numpy.sort(rows)
        found = self.file.scan(indices=vortex.array(pyarrow.array(wanted.astype("uint64")))).read_all()
        table = found.to_arrow_table().combine_chunks()
        ids, labels = (table[name].chunk(0) for name in ("ids", "label"))
        return ids.flatten().to_numpy().reshape(table.num_rows, -1), labels.to_numpy()


def make(folder, how):
    dataset = Vortex(folder / "tokens.vortex")
    return how.blocks(dataset, Batches(len(dataset), how))
