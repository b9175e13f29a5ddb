"""Workload `load`: a loader delivers a token dataset batch by batch; every row is accounted for.

After the epochs the read ceilings are measured in the same process, from the same .npy files and with the same account:
how fast the rows can be read without a loader.
"""

import argparse
import importlib
import importlib.util
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path

import events
import release
from account import Account, of_run

STILL_S, CEILING_CPU_S = 0.3, 0.1
LIBRARIES = ["torch", "numpy", "h5py", "hdf5plugin", "dask", "pandas", "pyarrow", "datasets", "webdataset", "litdata"]
LIBRARIES += ["mosaicml-streaming", "pylance", "vortex-data", "lmdb", "zarr", "array-record"]


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-dir", type=Path, required=True)
    parser.add_argument("--tokens-dir", type=Path, help="token dataset, in the loader's format too")
    parser.add_argument("--loader", required=True, help="module beside this file, in loaders/")
    parser.add_argument("--module", type=Path, help="file of a loader of one's own")
    parser.add_argument("--data", type=Path, help="what a loader of one's own reads")
    parser.add_argument("--rows", type=int, help="rows that an epoch of it must deliver")
    parser.add_argument("--order", choices=["sequential", "shuffled"], default="sequential")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--start", choices=["none", "fork", "forkserver", "spawn"], default="fork")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--pin-memory", choices=["no", "yes"], default="no")
    parser.add_argument("--advice", choices=["none", "random"], default="none")
    parser.add_argument("--option", default="none", help="of the loader's own OPTIONS: NAME-NUMBER-NAME-NUMBER")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument(
        "--limit-percent", type=int, default=0, help="under a memory limit no read ceilings are measured"
    )
    return parser.parse_args(argv)


def module_of(args):
    """The loader's module."""
    if not args.module:
        return importlib.import_module(f"loaders.{args.loader}")
    spec = importlib.util.spec_from_file_location(args.module.stem, args.module)
    module = importlib.util.module_from_spec(spec)
    sys.modules[args.module.stem] = module  # workers that are spawned import it by this name
    sys.path.append(str(args.module.parent))
    spec.loader.exec_module(module)
    return module


def cpu_s():
    """CPU seconds of this process and all below it, those that have ended included.

    The CPU clock of a living process is read by its number (clock_getcpuclockid(3)), to the nanosecond; /proc/PID/stat
    counts in hundredths of a second.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total, waiting = ended.ru_utime + ended.ru_stime, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            total += time.clock_gettime(~pid << 3 | 2)
            for thread in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return total


class TokenRows(Account):
    """The account of a token dataset: every row whole, and with its own label.

    A loader of one's own may give no labels. Then they are not checked, and rows without numbers are identified by
    their contents.
    """

    def __init__(self, rows):
        from rows import sums_of

        self.rows, self.sums_of, self.sums = rows, sums_of, rows.sums()
        self.contents, self.labelled = None, True
        super().__init__(rows.count)

    def take(self, ids, labels=None, worker=0):
        import numpy

        ids = numpy.asarray(ids)
        labels = None if labels is None else numpy.asarray(labels)
        if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iu"):
            labels = None  # something else that belongs to a row, such as its ids shifted by one
        self.labelled = self.labelled and labels is not None
        ids = ids if ids.dtype == numpy.int32 else ids.astype(numpy.int32)
        if ids.shape[1:] != (self.rows.width,) or (labels is not None and len(ids) != len(labels)):
            self.add(len(ids), worker, wrong=len(ids))
            return
        sums = self.sums_of(ids)
        numbers = self._numbers(ids, labels, sums)
        # A number that is no row of the data is compared with some row here; the account counts it as wrong.
        whole = sums == self.sums.take(numbers, mode="clip")
        if labels is not None:
            whole &= labels == self.rows.labels_of(numbers)
        self.add(len(ids), worker, numbers[whole], wrong=len(ids) - int(whole.sum()))

    def _numbers(self, ids, labels, sums):
        """The numbers of delivered rows."""
        from rows import Contents, numbers_of

        if not self.rows.own:
            return numbers_of(ids)
        if labels is not None:
            return labels
        if not self.contents:
            self.contents = Contents(self.sums)
            self.expect(self.contents.times)
        return self.contents.numbers_of(sums)

    def totals(self):
        identified_by = "contents" if self.contents else "labels" if self.rows.own else "ids"
        return super().totals() | {"rows_identified_by": identified_by, "labels_checked": self.labelled}


class OwnRows(Account):
    """The account of data that is not ours, which has numbers where the loader's module tells them."""

    def __init__(self, expected, module):
        self.numbers_of = getattr(module, "numbers", None)
        super().__init__(expected, numbered=self.numbers_of is not None, checked=False)

    def take(self, *batch):
        worker = batch[2] if len(batch) > 2 else 0
        self.add(len(batch[0]), worker, self.numbers_of(batch) if self.numbers_of else ())


def epoch(loader, account, number, cpu=cpu_s):
    """One epoch; marks at its begin, its first batch (of the first epoch) and its end."""
    events.phase(f"epoch {number}")
    account.begin()
    events.mark("epoch_begins", epoch=number)
    before_cpu, before, held, first = cpu(), time.perf_counter(), 0.0, None
    for batch in loader:
        account.take(*batch)
        if first is None:
            first = time.perf_counter() - before
            if number == 0:
                events.mark("first_batch", first_batch_s=first, **events.own_memory())
                # Workers have filled what they may and wait: a phase's first reading has PSS.
                still("after the first batch")
                held = time.perf_counter() - before - first
    took, used = time.perf_counter() - before - held, cpu() - before_cpu
    found = {"epoch": number, "duration_s": took, "cpu_s": used, "first_batch_s": first, **account.totals()}
    events.mark("epoch", **found, **events.own_memory())
    return found


def still(name):
    """A phase that begins with nothing moving, long enough for PSS and USS of all processes to be read."""
    events.phase(name)
    if os.environ.get(events.VARIABLE):
        time.sleep(STILL_S)


def read_ceilings(rows, args, account):
    """Rows per CPU-second of reading without a loader, by kind, from the .npy files with the same account.

    A first pass of each kind is not counted: it may bring the file into the page cache. Then passes are repeated for
    CEILING_CPU_S, because a single pass over a small dataset takes a few milliseconds, which is noise.
    """
    import mmap

    import numpy

    path, size, row_bytes = rows.folder / "npy" / "ids.npy", args.batch_size, rows.width * 4
    mapped = numpy.load(path, mmap_mode="r")
    labels = numpy.load(rows.folder / "npy" / "labels.npy")
    numbers = numpy.random.default_rng(1).permutation(rows.count)
    buffer = numpy.zeros((size, rows.width), numpy.int32)
    spare = buffer.copy()
    descriptor = os.open(path, os.O_RDONLY)

    def sequential(start, stop):
        os.preadv(descriptor, [buffer[: stop - start]], mapped.offset + start * row_bytes)
        return buffer[: stop - start], labels[start:stop]

    def random(start, stop):
        wanted = numbers[start:stop]
        for place, offset in zip(buffer, (mapped.offset + wanted * row_bytes).tolist(), strict=False):
            os.preadv(descriptor, [place], offset)
        return buffer[: stop - start], labels[wanted]

    def memcpy(start, stop):
        spare[:] = buffer
        return spare[: stop - start], labels[start:stop]

    def memmap(start, stop):
        return mapped[start:stop], labels[start:stop]

    def memmap_random(start, stop):
        wanted = numbers[start:stop]
        return mapped[wanted], labels[wanted]

    def passed(kind):
        account.begin()
        before = time.process_time()
        for start in range(0, rows.count, size):
            account.take(*kind(start, min(start + size, rows.count)), 0)
        return time.process_time() - before

    try:
        for kind in (sequential, random, memcpy, memmap, memmap_random):
            passed(kind)
            passes = used_s = 0
            while used_s < CEILING_CPU_S:
                used_s += passed(kind)
                passes += 1
            events.emit("read_ceiling", kind=kind.__name__, rows=passes * rows.count, cpu_s=used_s)
    finally:
        os.close(descriptor)
        mapped._mmap.madvise(mmap.MADV_DONTNEED)


def stored_bytes(folder):
    """Bytes of a file, or of all files below a folder."""
    if folder.is_file():
        return folder.stat().st_size
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def load(args):
    """Deliver every epoch; what is held at the end, by owner."""
    events.phase("import")
    import loaders.how as how_module
    import torch
    from rows import Rows

    rows = Rows(args.tokens_dir) if args.tokens_dir else None
    module = module_of(args)
    folder = args.data or args.tokens_dir / module.FORMAT
    release.imported(LIBRARIES)
    pinning = args.pin_memory == "yes"
    if pinning and not torch.accelerator.is_available():
        events.not_applicable("pin_memory does nothing here: there is no accelerator")
    if args.advice != "none" and not getattr(module, "ADVISED", False):
        events.not_applicable("this loader maps no file that could be advised")
    chosen = how_module.options(args.option)
    if unknown := sorted(set(chosen) - set(getattr(module, "OPTIONS", ()))):
        events.not_applicable(f"this loader has no option {' and no '.join(unknown)}")
    how = how_module.How(args.order, args.workers, args.start, args.batch_size, pinning, args.advice, chosen)
    account = TokenRows(rows) if rows else OwnRows(args.rows, module)
    events.phase("open")
    begun = time.perf_counter()
    try:
        loader = module.make(folder, how)
    except how_module.NotApplicableError as reason:
        events.not_applicable(str(reason))
    opened_s = time.perf_counter() - begun
    events.mark("baseline", opened_s=opened_s, pickled_bytes=pickled_bytes(args, how), **events.own_memory())
    found = [epoch(loader, account, number) for number in range(args.epochs)]
    work = {"stored_bytes": stored_bytes(folder), "loader_kind": module.KIND, "shuffle": module.SHUFFLE}
    work |= {"rows": rows.count, "bytes_in": rows.bytes} if rows else {"rows": found[-1]["rows_delivered"]}
    still("delivered")
    events.mark("work", **work, **of_run(found), **events.own_memory())
    if rows and not args.limit_percent:
        events.phase("read ceilings")
        read_ceilings(rows, args, account)
    return {"loader": [loader, how], "account": [account]}


def pickled_bytes(args, how):
    """What handing the datasets to a worker takes where they are pickled for it; None elsewhere."""
    if not args.workers or args.start == "fork":
        return None
    return sum(len(multiprocessing.reduction.ForkingPickler.dumps(dataset)) for dataset in how.opened)


def main():
    args = arguments()
    try:
        held = load(args)
    except Exception as error:  # an error of a loader is a result: one line in the record
        words = " ".join(f"{type(error).__name__}: {error}".split())
        events.emit("gave_up", reason=words[:500])
        raise
    release.teardown(held)


if __name__ == "__main__":
    main()
