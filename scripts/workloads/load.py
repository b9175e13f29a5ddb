"""Workload `load`: a loader delivers a token dataset batch by batch; every row is accounted for."""

import argparse
import importlib
import importlib.util
import multiprocessing
import os
import resource
import sys
import time
import zlib
from pathlib import Path

import events
from account import Account, of_run

STILL_S = 0.3
# Seconds between events of the rows delivered so far: what a run delivered that is stopped.
OFTEN_S = 1.0
# Epochs after the first repeat until they have used this much CPU together, or this much time.
WARM_CPU_S, WARM_S = 1.0, 20.0
# After this many batches a reused buffer shows in any loader.
MANY_BATCHES = 64
LIBRARIES = ["torch", "numpy", "h5py", "hdf5plugin", "dask", "pandas", "pyarrow", "datasets", "webdataset", "litdata"]
LIBRARIES += ["pylance", "vortex-data", "lmdb", "zarr", "array-record"]


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
    parser.add_argument("--advice", choices=["none", "random"], default="none")
    parser.add_argument("--readahead", choices=["default", "one-batch", "no-batch"], default="default")
    parser.add_argument("--torch-threads", type=int, default=0, help="0: as many as PyTorch starts by itself")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit-percent", type=int, default=0, help="the watcher sets it")
    return parser.parse_args(argv)


def module_of(args):
    """The loader's module."""
    if not args.module:
        return importlib.import_module(f"loaders.{args.loader}")
    spec = importlib.util.spec_from_file_location(args.module.stem, args.module)
    assert spec and spec.loader, f"{args.module} does not end in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[args.module.stem] = module  # spawned workers import it by this name
    sys.path.append(str(args.module.parent))
    spec.loader.exec_module(module)
    return module


def cpu_s():
    """CPU seconds of this process and all its descendants, including ended ones.

    The CPU clock of a living process is read by its id (clock_getcpuclockid(3)), in nanoseconds; /proc/PID/stat counts
    in hundredths of a second.
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
    """The account of a token dataset: checks every row's bytes and label.

    Your own loader may return no labels. Then they are not checked, and rows without numbers are identified by their
    contents.
    """

    def __init__(self, rows):
        from rows import sums_of

        self.rows, self.sums_of, self.sums = rows, sums_of, rows.sums()
        self.contents, self.labelled, self.row_bytes = None, True, 4 * rows.width
        super().__init__(rows.count)

    def take(self, ids, labels=None, worker=0):
        import numpy

        ids = numpy.asarray(ids)
        labels = None if labels is None else numpy.asarray(labels)
        if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iu"):
            labels = None  # a property of a row, such as its shifted ids
        self.labelled = self.labelled and labels is not None
        ids = ids if ids.dtype == numpy.int32 else ids.astype(numpy.int32)
        if ids.shape[1:] != (self.rows.width,) or (labels is not None and len(ids) != len(labels)):
            self.add(len(ids), worker, wrong=len(ids))
            return
        sums = self.sums_of(ids)
        numbers = self._numbers(ids, labels, sums)
        # A number outside the data is compared with some row here; the account counts it as wrong.
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
    """The account of your own data, which has numbers if the loader's module has a function `numbers`."""

    def __init__(self, expected, module):
        self.numbers_of = getattr(module, "numbers", None)
        super().__init__(expected, numbered=self.numbers_of is not None, checked=False)

    def take(self, *batch):
        worker = batch[2] if len(batch) > 2 else 0
        self.add(len(batch[0]), worker, self.numbers_of(batch) if self.numbers_of else ())


class Lent:
    """Keeps the first batch, to check whether later batches overwrite it.

    A loader that reuses its memory lends its batches: to keep one, copy it.
    """

    def __init__(self):
        self.rows = self.digest = None
        self.later = -1

    def keep(self, rows):
        self.rows, self.digest = rows, digest(rows)

    def changed(self):
        """Whether the batch changed; None if unknown, because it is no array or too few batches came."""
        if self.digest is None:
            return None
        if digest(self.rows) != self.digest:
            return True
        return None if self.later < MANY_BATCHES else False


def digest(rows):
    """A checksum of an array or tensor; None for anything else."""
    import numpy

    try:
        return zlib.crc32(numpy.ascontiguousarray(numpy.asarray(rows)).view(numpy.uint8).data)
    except (TypeError, ValueError, RuntimeError):
        return None


def epoch(loader, account, number, how=None, lent=None, *, repeated=False):
    """Run one epoch, with marks at its start, its first batch (in the first epoch) and its end.

    An epoch `repeated` only for a rate has no marks, which take time. The pause at the first batch, while memory is
    read, counts neither as time nor as CPU time.
    """
    mark = events.emit if repeated else events.mark
    if not repeated:
        events.phase(f"epoch {number}")
    account.begin()
    mark("epoch_begins", epoch=number)
    before_cpu, before, own_cpu = cpu_s(), time.perf_counter(), time.process_time()
    held = held_cpu = 0.0
    first, reported = None, before
    for batch in loader:
        account.take(*batch)
        if (now := time.perf_counter()) - reported > OFTEN_S:
            reported = now
            events.emit("delivered", epoch=number, **account.so_far())
        if lent:
            lent.later += 1
        if first is None:
            first = time.perf_counter() - before
            if number == 0:
                own_cpu = time.process_time() - own_cpu if has_children() else 0.0
                held_cpu = time.thread_time()
                events.mark("first_batch", first_batch_s=first, **events.own_memory())
                if lent:
                    lent.keep(batch[0])
                still("after the first batch")
                held, held_cpu = time.perf_counter() - before - first, time.thread_time() - held_cpu
    took, used = time.perf_counter() - before - held, cpu_s() - before_cpu - held_cpu
    totals = {"epoch": number, "duration_s": took, "cpu_s": used, "first_batch_s": first, **account.totals()}
    if number == 0 and first is not None and how:
        totals["startup_cpu_s"] = startup_cpu_s(how, own_cpu)
    mark("epoch", **totals, **events.own_memory())
    return totals


def has_children():
    """Whether a process below this one lives, also one that `multiprocessing` did not start."""
    for thread in Path("/proc/self/task").iterdir():
        try:
            if (thread / "children").read_text().split():
                return True
        except OSError:  # the thread has ended
            continue
    return False


def startup_cpu_s(how, own):
    """CPU seconds that starting workers took: of this process, and of each worker until its work began.

    0 without workers; None if they do not report it.
    """
    if not own:
        return 0.0
    started_s = how.started.cpu_s.tolist() if how.started else []
    return own + sum(started_s) if started_s and all(started_s) else None


def rated(loader, account, accounts, how, lent):
    """Repeat epochs until those after the first are long enough for a rate."""
    before = time.perf_counter()
    while len(accounts) > 1 and time.perf_counter() - before < WARM_S:
        if sum(one["cpu_s"] for one in accounts[1:]) >= WARM_CPU_S:
            break
        accounts.append(epoch(loader, account, len(accounts), how, lent, repeated=True))


def still(name):
    """Begin a phase once workers have filled their queues and wait. Its first reading includes PSS and USS of all
    processes."""
    if os.environ.get(events.VARIABLE):
        time.sleep(STILL_S)
    events.hold(events.phase(name))


def stored_bytes(folder):
    """Bytes of a file, or of all files below a folder."""
    if folder.is_file():
        return folder.stat().st_size
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def load(args):
    """Deliver every epoch."""
    events.phase("import")
    import loaders.how as how_module
    import torch
    from rows import MappedRows

    if args.torch_threads:
        torch.set_num_threads(args.torch_threads)
    rows = MappedRows(args.tokens_dir) if args.tokens_dir else None
    module = module_of(args)
    folder = args.data or args.tokens_dir / module.FORMAT
    events.imported(LIBRARIES)
    if args.advice != "none" and not getattr(module, "ADVISED", False):
        events.not_applicable("this loader maps no file that could be advised")
    if args.readahead != "default" and not getattr(module, "READS_AHEAD", False):
        events.not_applicable("this loader has no read-ahead that can be set")
    how = how_module.How(args.order, args.workers, args.start, args.batch_size, args.advice, args.readahead)
    account = TokenRows(rows) if rows else OwnRows(args.rows, module)
    events.phase("open")
    begun = time.perf_counter()
    try:
        loader = module.make(folder, how)
    except how_module.NotApplicableError as reason:
        events.not_applicable(str(reason))
    opened_s = time.perf_counter() - begun
    events.mark("baseline", opened_s=opened_s, pickled_bytes=pickled_bytes(args, how), **events.own_memory())
    lent = Lent()
    accounts = [epoch(loader, account, number, how, lent) for number in range(args.epochs)]
    rated(loader, account, accounts, how, lent)
    work = {
        "stored_bytes": stored_bytes(folder),
        "loader_kind": getattr(module, "KIND", "own"),
        "shuffle": module.SHUFFLE,
    }
    work["lends"] = lent.changed()
    work |= {"rows": rows.count, "bytes_in": rows.bytes} if rows else {"rows": accounts[-1]["rows_delivered"]}
    still("delivered")
    events.mark("work", **work, **of_run(accounts), **events.own_memory())


def pickled_bytes(args, how):
    """Bytes of the datasets as pickled for a worker; None if they are not pickled."""
    if not args.workers or args.start == "fork":
        return None
    return sum(len(multiprocessing.reduction.ForkingPickler.dumps(dataset)) for dataset in how.opened)


def main():
    args = arguments()
    try:
        load(args)
    except Exception as error:  # an error of a loader is a result: one line in the record
        if not (isinstance(error, ImportError) and events.lacking(error)):
            words = " ".join(f"{type(error).__name__}: {error}".split())
            events.emit("gave_up", reason=words[:500])
        raise


if __name__ == "__main__":
    events.run(main)
