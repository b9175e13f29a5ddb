"""ArrayRecord: records by number."""

import numpy
from array_record.python.array_record_data_source import ArrayRecordDataSource
from loaders.how import Batches
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "arrayrecord", "library", "rows"


class Records(Dataset):
    def __init__(self, path):
        self.path, self.source = path, None
        self.count = len(ArrayRecordDataSource(str(path)))

    def __getstate__(self):
        return {**self.__dict__, "source": None}

    def __len__(self):
        return self.count

    def __getitem__(self, rows):
        self.source = self.source or ArrayRecordDataSource(str(self.path))
        numbers = list(range(rows.start, rows.stop)) if isinstance(rows, slice) else rows.tolist()
        rows = numpy.stack([numpy.frombuffer(record, "int32") for record in self.source.__getitems__(numbers)])
        return rows[:, 2:].copy(), rows[:, :2].copy().view("int64")[:, 0]


def make(folder, how):
    if how.workers and how.start == "fork":
        how.cannot("ArrayRecord's own threads do not survive a fork")
    dataset = Records(folder / "tokens.array_record")
    return how.blocks(dataset, Batches(len(dataset), how))
