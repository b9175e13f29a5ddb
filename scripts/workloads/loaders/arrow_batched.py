"""Arrow IPC, mapped: rows gathered from their record batches, without joining the batches."""

import numpy
import pyarrow
from loaders.how import gather
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "arrow", "ours", "rows"


class Mapped(Dataset):
    def __init__(self, folder):
        self.path = folder / "tokens.arrow"
        self.parts = opened(self.path)
        self.sizes = numpy.cumsum([0, *(len(labels) for _, labels in self.parts)])

    def __getstate__(self):
        return {**self.__dict__, "parts": None}

    def __len__(self):
        return int(self.sizes[-1])

    def __getitem__(self, rows):
        if self.parts is None:
            self.parts = opened(self.path)
        wanted = numpy.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        return gather(self.parts, self.sizes, wanted)


def opened(path):
    reader = pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))
    batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    return [(view(batch), batch.column(1).to_numpy()) for batch in batches]


def view(batch):
    return batch.column(0).flatten().to_numpy().reshape(batch.num_rows, -1)


def make(folder, how):
    return how.blocks(Mapped(folder))
