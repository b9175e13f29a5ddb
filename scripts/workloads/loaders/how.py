"""Settings of the delivery, and the DataLoaders that the loaders are made of.

A loader is a module with the constants FORMAT (its input: a module of `formats`), KIND (`as written` in the article,
the same `corrected`, `library` for a library used as documented, `ours`, or `own` for yours) and SHUFFLE (what
shuffling means for it: `rows`, `blocks`, `buffer`, `shards` or `none`), and a function `make(folder, how)`. It returns
an iterable that yields one epoch each time it is iterated: batches of ids [n, width] and labels [n], and the number of
the worker that made them. ADVISED and READS_AHEAD say that a loader follows `how.advice` and `how.readahead`.
"""

import time
from dataclasses import dataclass, field

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, get_worker_info


class Started:
    """CPU seconds that each worker had used when its work began: the cost of its start and its imports."""

    def __init__(self, workers):
        self.cpu_s = torch.zeros(workers, dtype=torch.float64).share_memory_()

    def __call__(self, worker):
        self.cpu_s[worker] = time.process_time()


class NotApplicableError(Exception):
    """This loader does not have the requested setting; the text is the reason."""


@dataclass
class How:
    order: str = "sequential"
    workers: int = 0
    start: str = "fork"
    batch_size: int = 256
    advice: str = "none"
    readahead: str = "default"
    seed: int = 1
    rank: int = 0
    ranks: int = 1
    opened: list = field(default_factory=list)
    """Datasets as handed to workers, to measure the cost of pickling them."""
    started: Started | None = None

    @property
    def shuffled(self):
        return self.order == "shuffled"

    def cannot(self, reason):
        raise NotApplicableError(reason)

    def options(self):
        """The options of every DataLoader."""
        chosen: dict[str, object] = {"num_workers": self.workers}
        if self.workers:
            self.started = Started(self.workers)
            chosen |= {"multiprocessing_context": self.start, "persistent_workers": True}
            chosen |= {"worker_init_fn": self.started}
        return chosen

    def items(self, dataset, collate=None):
        """Deliver single rows, or lists of rows if the dataset has `__getitems__`, as in the documentation."""
        self.opened.append(dataset)
        collate = collate or torch.utils.data.default_collate
        options = {"batch_size": self.batch_size, "collate_fn": Tagged(collate), **self.options()}
        if self.ranks > 1:
            sampler = torch.utils.data.DistributedSampler(dataset, self.ranks, self.rank, self.shuffled, self.seed)
            return DataLoader(dataset, sampler=sampler, **options)
        generator = torch.Generator().manual_seed(self.seed)
        return DataLoader(dataset, shuffle=self.shuffled, generator=generator, **options)

    def own(self, loader, dataset, collate):
        """A DataLoader over a library's own dataset."""
        self.opened.append(dataset)
        return loader(dataset, batch_size=self.batch_size, collate_fn=Tagged(collate), **self.options())

    def blocks(self, dataset):
        """Deliver a batch at a time: index the dataset with the rows of each batch."""
        return self.stream(dataset, sampler=Batches(len(dataset), self))

    def stream(self, dataset, **more):
        """Deliver the whole batches that an iterable dataset yields."""
        self.opened.append(dataset)
        return DataLoader(dataset, batch_size=None, collate_fn=Tagged(tensors), **more, **self.options())

    def places(self):
        """The number of this reader and of all readers, over all ranks and their workers."""
        number, count = this_worker()
        return self.rank * count + number, self.ranks * count


def this_worker():
    """The number of this DataLoader worker and of all workers; 0 of 1 without workers."""
    info = get_worker_info()
    return (info.id, info.num_workers) if info else (0, 1)


class Tagged:
    """A collate function whose batches include the number of the worker that made them."""

    def __init__(self, collate):
        self.collate = collate

    def __call__(self, rows):
        ids, labels = self.collate(rows)
        return ids, labels, this_worker()[0]


def tensors(batch):
    """Convert two arrays to tensors, without a copy."""
    return tuple(part if isinstance(part, torch.Tensor) else torch.from_numpy(part) for part in batch)


def stacked(rows):
    """Collate rows that are an array of ids and a label."""
    ids = torch.from_numpy(numpy.stack([row["ids"] for row in rows]))
    return ids, torch.tensor([row["label"] for row in rows])


def arrays(table):
    """The ids [n, width] and labels [n] of an Arrow table; without a copy if its columns are in one piece."""
    table = table.combine_chunks()
    ids, labels = (table[name].chunk(0) for name in ("ids", "label"))
    return ids.flatten().to_numpy().reshape(table.num_rows, -1), labels.to_numpy()


class Batches(Sampler):
    """Row numbers, a batch at a time, every row once in an epoch: slices in order, arrays when shuffled."""

    def __init__(self, count, how):
        self.count, self.how, self.epoch = count, how, 0

    def __iter__(self):
        how, size = self.how, self.how.batch_size
        self.epoch += 1
        if how.shuffled:
            numbers = numpy.random.default_rng((how.seed, self.epoch)).permutation(self.count)[how.rank :: how.ranks]
            for start in range(0, len(numbers), size):
                yield numbers[start : start + size]
        else:
            first, last = (self.count * rank // how.ranks for rank in (how.rank, how.rank + 1))
            for start in range(first, last, size):
                yield slice(start, min(start + size, last))


class Opened(Dataset):
    """Rows by number: `read(rows)` returns those of one batch.

    `open_it` is called in the process that reads, and returns `read`, which is never pickled.
    """

    def __init__(self, count, open_it, *given):
        self.count, self.open_it, self.given, self.read = count, open_it, given, None

    def __getstate__(self):
        return {**self.__dict__, "read": None}

    def __len__(self):
        return self.count

    def __getitem__(self, rows):
        self.read = self.read or self.open_it(*self.given)
        return self.read(rows)


def groups_of_blocks(bounds, how, epoch, size=4):
    """Blocks of contiguous rows, in order or shuffled; the reader shuffles rows within a group of blocks.

    `bounds` are the first rows of the blocks, and the end. Yields a list of (first, last, seed) for each group.
    """
    order = numpy.arange(len(bounds) - 1)
    rng = numpy.random.default_rng((how.seed, epoch))
    if how.shuffled:
        rng.shuffle(order)
    order = order[how.rank :: how.ranks]
    size = size if how.shuffled else 1
    for start in range(0, len(order), size):
        seed = int(rng.integers(1 << 31)) if how.shuffled else None
        yield [(bounds[at], bounds[at + 1], seed) for at in order[start : start + size]]


class Grouped(IterableDataset):
    """Batches cut from groups of blocks, each group shuffled as a whole; `read(first, last)` returns one block.

    Every worker reads its share of the groups. `open_it` is called in the process that reads, and returns `read`.
    """

    def __init__(self, bounds, how, open_it, *given):
        self.bounds, self.how, self.epoch = bounds, how, 0
        self.open_it, self.given, self.read = open_it, given, None

    def __getstate__(self):
        return {**self.__dict__, "read": None}

    def __iter__(self):
        self.read = read = self.read or self.open_it(*self.given)
        self.epoch += 1
        number, count = this_worker()
        for place, group in enumerate(groups_of_blocks(self.bounds, self.how, self.epoch)):
            if place % count == number:
                yield from self.batches(read, group)

    def batches(self, read, group):
        parts = [read(first, last) for first, last, _ in group]
        seed, size = group[0][2], self.how.batch_size
        if seed is None and len(parts) == 1:
            ids, labels = parts[0]
            for start in range(0, len(ids), size):
                yield ids[start : start + size], labels[start : start + size]
            return
        # Gather rows directly from the blocks, without a copy of the whole group.
        sizes = numpy.cumsum([0, *(len(labels) for _, labels in parts)])
        order = numpy.random.default_rng(seed).permutation(sizes[-1])
        for start in range(0, len(order), size):
            yield gather(parts, sizes, order[start : start + size])


def gather(parts, sizes, wanted):
    """Rows from several arrays: `sizes` are their cumulative lengths, `wanted` are numbers over all of them."""
    owner = numpy.searchsorted(sizes, wanted, side="right") - 1
    ids = numpy.empty((len(wanted), parts[0][0].shape[1]), parts[0][0].dtype)
    labels = numpy.empty(len(wanted), numpy.int64)
    for number in numpy.unique(owner):
        mine = numpy.flatnonzero(owner == number)
        inside = wanted[mine] - sizes[number]
        ids[mine], labels[mine] = parts[number][0][inside], parts[number][1][inside]
    return ids, labels
