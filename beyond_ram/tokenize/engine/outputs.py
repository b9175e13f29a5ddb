"""Write ids into files: a part per unit of work, and the files that join them. Imports numpy, xxhash and pyarrow.

`bin`: parts are appended to one TOKENS.bin in the inputs' order, with Megatron's index beside it. `datasets` and
`parquet`: the parts are the files of the result, and joining them writes their list.
"""

import hashlib
import os
import struct

import numpy as np
import xxhash
from inputs import arrow_library
from records import unlinked, write_json
from trouble import Refused

IDS = 1 << 16  # ids and documents in a record batch
GROUP = 1 << 22  # ids in a row group
BUFFER = 1 << 18  # bytes per write: smaller writes spend more in system calls
_MEGATRON = b"MMIDIDX\x00\x00"
_CODES = {"uint16": 8, "int32": 4}


class Digest:
    """XXH3 of the ids in order, 128 bits, as `xxh128sum` prints for the flat file."""

    def __init__(self, dtype):
        self.state, self.dtype = xxhash.xxh3_128(), dtype

    def file(self, kind, path):
        """Add the ids of a part, or of a flat file."""
        for ids in ids_of(kind, path, self.dtype):
            for part in in_parts(ids, self.dtype):
                self.state.update(part)

    def hexdigest(self):
        return self.state.hexdigest()


def ids_of(kind, path, dtype):
    """The ids of a finished file, an array at a time."""
    if kind == "bin":
        with open(path, "rb", buffering=0) as opened:
            while raw := opened.read(BUFFER):
                yield np.frombuffer(raw, dtype)
    elif kind == "datasets":
        pyarrow = arrow_library()
        with pyarrow.memory_map(str(path)) as source:  # in place: pyarrow keeps memory that it used for a copy
            for batch in pyarrow.ipc.open_stream(source):
                yield in_place(batch.column(0).flatten())
    else:
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(str(path), pre_buffer=False).iter_batches(1024, use_threads=False):
            yield in_place(batch.column(0).flatten())


def in_parts(ids, dtype):
    """Mapped ids of another type, a part at a time: a document may be larger than the memory limit."""
    for at in range(0, len(ids), IDS):
        yield ids[at : at + IDS].astype(dtype, copy=False)


def documents_of(kind, path, dtype, lengths, start):
    """The documents of a unit, an array of ids each. For `bin`, `lengths` is the unit's file of lengths, and `start`
    the byte of `path` at which the unit begins."""
    if kind == "bin":
        # Mapped, because a document may be larger than the memory limit.
        ids, at = np.memmap(path, dtype, "r") if os.path.getsize(path) else np.empty(0, dtype), start // dtype.itemsize
        for batch in _lengths([lengths]):
            for length in batch.tolist():
                yield ids[at : at + length]
                at += length
        return
    pyarrow = arrow_library()
    if kind == "datasets":
        with pyarrow.memory_map(str(path)) as source:
            yield from _lists(pyarrow.ipc.open_stream(source))
    else:
        import pyarrow.parquet as pq

        yield from _lists(pq.ParquetFile(str(path), pre_buffer=False).iter_batches(64, use_threads=False))


def _lists(batches):
    for batch in batches:
        lists = batch.column(0)
        ids, offsets = in_place(lists.values), np.frombuffer(lists.buffers()[1], np.int32)
        for at in range(lists.offset, lists.offset + len(lists)):
            yield ids[offsets[at] : offsets[at + 1]]


def file_digest(path, start=0, size=None):
    """(bytes, XXH3-128) of a file, or of `size` bytes of it from `start` on."""
    digest, read, view = xxhash.xxh3_128(), 0, memoryview(bytearray(BUFFER))
    if not os.path.isfile(path):  # a pipe would be waited for
        raise FileNotFoundError(f"{path}: no regular file")
    with open(path, "rb", buffering=0) as opened:
        opened.seek(start)
        while count := opened.readinto(view[: BUFFER if size is None else min(BUFFER, size - read)]):
            digest.update(view[:count])
            read += count
    return [read, digest.hexdigest()]


def intact(path, recorded):
    """Whether a file exists with the recorded [bytes, digest]."""
    try:
        return os.stat(path).st_size == recorded[0] and file_digest(path) == list(recorded)
    except OSError:
        return False


def in_place(values):
    """An array of 32-bit ids as numpy array. pyarrow's own conversion imports pandas if it is installed, some 40 MB."""
    return np.frombuffer(values.buffers()[1] or b"", "<i4", len(values), 4 * values.offset)


def joined(digests):
    """The digest of one shard, or one of the digests of several, in order."""
    digests = list(digests)
    return digests[0] if len(digests) == 1 else xxhash.xxh3_128("".join(digests).encode()).hexdigest()


def narrowed(ids, dtype):
    """Ids (uint32) converted to another type, each the same number. Raises Refused for one that does not fit."""
    if len(ids) and (highest := int(ids.max())) > np.iinfo(dtype).max:
        raise Refused(f"the tokenizer gave the id {highest}, which does not fit {np.dtype(dtype).name}")
    return ids.view(dtype) if np.dtype(dtype).itemsize == ids.itemsize else ids.astype(dtype)


class Part:
    """The documents of one unit. `documents` takes arrays of ids; `begin`, `piece` and `end` one document in pieces;
    `finish` closes its files."""

    def __init__(self):
        self.rows = self.tokens = self.length = 0

    def count(self, arrays):
        """Count whole documents; return their lengths."""
        lengths = np.fromiter(map(len, arrays), np.int32, len(arrays))
        self.rows += len(arrays)
        self.tokens += int(lengths.sum())
        return lengths

    def begin(self):
        self.length = 0

    def piece(self, ids):
        self.length += len(ids)
        self.tokens += len(ids)

    def end(self):
        """Count the document; return an array of its length."""
        self.rows += 1
        return np.array([self.length], np.int32)


class Flat(Part):
    """Ids in sequence, in PATH; lengths of documents in PATH.lengths."""

    def __init__(self, path, dtype):
        super().__init__()
        self.held, self.filled, self.dtype = np.empty(BUFFER // dtype.itemsize, np.uint32), 0, dtype
        self.file = open(path, "xb")
        self.lengths = open(unlinked(f"{path}.lengths"), "xb")

    def documents(self, arrays):
        self.lengths.write(self.count(arrays))
        self.keep(arrays)

    def keep(self, arrays):
        """Append ids to the waiting ones, copying each once."""
        if (count := sum(map(len, arrays))) > len(self.held) - self.filled:
            self.write()
            if count > len(self.held):
                self.file.write(narrowed(np.concatenate(arrays), self.dtype))
                return
        np.concatenate(arrays, out=self.held[self.filled : self.filled + count])
        self.filled += count

    def write(self):
        self.file.write(narrowed(self.held[: self.filled], self.dtype))
        self.filled = 0

    def piece(self, ids):
        super().piece(ids)
        self.keep([ids])

    def end(self):
        self.lengths.write(super().end())

    def finish(self):
        self.write()
        self.file.close()
        self.lengths.close()


class Rows(Part):
    """A column `input_ids` of lists. A document in pieces goes through a file, so that it is never in memory whole."""

    def __init__(self, path):
        super().__init__()
        self.arrow, self.path = arrow_library(), path
        self.schema = self.arrow.schema([("input_ids", self.arrow.list_(self.arrow.int32()))])
        self.ids, self.lens, self.held = [], [], 0

    def documents(self, arrays):
        lengths = self.count(arrays)
        self.ids += arrays
        self.lens.append(lengths)
        self.held += int(lengths.sum()) + len(lengths)
        if self.held >= IDS:
            self.flush()

    def flush(self):
        if self.lens:
            ids = np.concatenate(self.ids, dtype=np.uint32)
            lengths = np.concatenate(self.lens)
            self.ids, self.lens, self.held = [], [], 0
            self.write(self.batch(ids, lengths))

    def batch(self, ids, lengths):
        ids = narrowed(ids, np.int32)
        offsets = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        values = self.arrow.Array.from_buffers(self.arrow.int32(), len(ids), [None, self.arrow.py_buffer(ids)])
        lists = self.arrow.ListArray.from_arrays(self.arrow.array(offsets), values)
        return self.arrow.record_batch([lists], schema=self.schema)

    def begin(self):
        super().begin()
        self.spool = open(unlinked(f"{self.path}.document"), "xb")

    def piece(self, ids):
        super().piece(ids)
        self.spool.write(np.ascontiguousarray(ids).data)

    def end(self):
        self.flush()
        self.spool.close()
        ids = np.memmap(self.spool.name, np.uint32, "r") if self.length else np.empty(0, np.uint32)
        self.write(self.batch(ids, super().end()))
        os.unlink(self.spool.name)

    def write(self, batch):
        raise NotImplementedError


class Arrow(Rows):
    """An Arrow IPC stream that `datasets` can map."""

    def __init__(self, path):
        super().__init__(path)
        self.sink = self.arrow.OSFile(str(path), "wb")
        self.writer = self.arrow.ipc.new_stream(self.sink, self.schema)

    def write(self, batch):
        self.writer.write_batch(batch)

    def finish(self):
        self.flush()
        self.writer.close()
        self.sink.close()


class Parquet(Rows):
    """A Parquet file, with a maximum number of ids per row group."""

    def __init__(self, path):
        import pyarrow.parquet as pq

        super().__init__(path)
        self.writer = pq.ParquetWriter(str(path), self.schema, use_dictionary=False, compression="zstd")
        self.waiting, self.size = [], 0

    def write(self, batch):
        self.waiting.append(batch)
        self.size += len(batch.column(0).values)
        if self.size >= GROUP:
            self.group()

    def group(self):
        if self.waiting:
            self.writer.write_table(self.arrow.Table.from_batches(self.waiting), row_group_size=1 << 30)
            self.waiting, self.size = [], 0

    def finish(self):
        self.flush()
        self.group()
        self.writer.close()


def part(kind, path, dtype):
    """A new part of a result at a path."""
    unlinked(path)
    return Flat(path, dtype) if kind == "bin" else {"datasets": Arrow, "parquet": Parquet}[kind](path)


def append(target, source, digest):
    """Append a flat part to an open file, and add it to the digest. Returns the digest of the part alone."""
    view, alone = memoryview(bytearray(BUFFER)), xxhash.xxh3_128()
    with open(source, "rb", buffering=0) as opened:
        while count := opened.readinto(view):
            digest.state.update(view[:count])
            alone.update(view[:count])
            target.write(view[:count])
    target.flush()
    return alone.hexdigest()


def write_index(path, lengths_files, rows, dtype):
    """Write Megatron's index of a flat file: lengths (int32), positions in bytes (int64), starts of documents.

    A sequence is a document. The type code for uint32 is that of int32: Megatron has no uint32, and ids below 2^31 have
    the same bytes.
    """
    code = _CODES["uint16" if dtype.itemsize == 2 else "int32"]
    with open(path, "wb", buffering=BUFFER) as index:
        index.write(_MEGATRON + struct.pack("<QBQQ", 1, code, rows, rows + 1))
        for lengths in _lengths(lengths_files):
            index.write(lengths.data)
        at = 0
        for lengths in _lengths(lengths_files):
            ends = np.cumsum(lengths, dtype=np.int64)
            index.write((at + ends - lengths) * dtype.itemsize)
            at += int(ends[-1])
        for first in range(0, rows + 1, 1 << 16):
            index.write(np.arange(first, min(first + (1 << 16), rows + 1), dtype=np.int64).data)


def _lengths(files):
    for name in files:
        with open(name, "rb") as opened:
            while raw := opened.read(BUFFER):
                yield np.frombuffer(raw, "<i4")


def write_datasets(folder, names, digest):
    """Write the files that `datasets.load_from_disk` needs besides the Arrow files."""
    feature = {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "Sequence"}
    write_json(folder / "dataset_info.json", {"features": {"input_ids": feature}})
    state = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": digest[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    write_json(folder / "state.json", state)


def sha256(kind, files, dtype):
    """SHA-256 of all ids as int32, little-endian; `ids_sha256` in the workflow."""
    digest = hashlib.sha256()
    for name in files:
        for ids in ids_of(kind, name, dtype):
            for part in in_parts(ids, "<i4"):
                digest.update(part)
    return digest.hexdigest()
