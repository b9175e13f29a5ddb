"""pyarrow.dataset: the record batches of a scan, which reads ahead by itself."""

import numpy
import pyarrow.dataset
from loaders.how import groups_of_blocks, this_worker
from loaders.parquet_blocks import bounds_of
from torch.utils.data import IterableDataset

FORMAT, KIND, SHUFFLE = "parquet", "library", "blocks"
READS_AHEAD = True
SETTINGS = {"default": ({}, {}), "one-batch": ({"batch_readahead": 1}, {}),
            "no-batch": ({"batch_readahead": 0}, {"pre_buffer": False})}  # fmt: skip


class Scan(IterableDataset):
    def __init__(self, path, bounds, how):
        self.path, self.bounds, self.how, self.epoch = path, bounds, how, 0

    def __iter__(self):
        self.epoch += 1
        number, count = this_worker()
        starts = {first: at for at, first in enumerate(self.bounds)}
        blocks = groups_of_blocks(self.bounds, self.how, self.epoch, size=1)
        groups = [starts[first] for ((first, _, _),) in blocks][number::count]
        if not groups:
            return
        rng = numpy.random.default_rng((self.how.seed, self.epoch, number))
        for batch in self.scanner(groups).to_batches():
            ids, labels = batch.column("ids"), batch.column("label").to_numpy()
            ids = ids.flatten().to_numpy().reshape(len(labels), -1)
            if self.how.shuffled:
                order = rng.permutation(len(labels))
                ids, labels = ids[order], labels[order]
            for start in range(0, len(labels), self.how.batch_size):
                stop = start + self.how.batch_size
                yield ids[start:stop], labels[start:stop]

    def scanner(self, groups):
        scan, fragment = SETTINGS[self.how.readahead]
        # A scan keeps the order within a fragment, so a fragment is all row groups in order, and one when shuffled.
        size = 1 if self.how.shuffled else len(groups)
        whole = pyarrow.dataset.dataset(self.path, format="parquet")
        (file,) = whole.get_fragments()
        fragments = [file.subset(row_group_ids=groups[at : at + size]) for at in range(0, len(groups), size)]
        shared = pyarrow.dataset.FileSystemDataset(fragments, whole.schema, whole.format, whole.filesystem)
        how = pyarrow.dataset.ParquetFragmentScanOptions(**fragment)
        return shared.scanner(columns=["ids", "label"], fragment_scan_options=how, **scan)


def make(folder, how):
    path = str(folder / "tokens.parquet")
    return how.stream(Scan(path, bounds_of(path), how))
