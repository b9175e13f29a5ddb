"""Read documents from files in order, with bounded memory: Parquet, Arrow, JSON Lines, CSV, text.

`plan` divides the inputs into units of work; `read` yields the documents of a unit. pyarrow and numpy are imported only
for files that need them.
"""

import codecs
import csv
import gzip
import itertools
import mmap
import os
import zlib

import json_text
from inventory import kind_of
from trouble import Refused

CHUNK = 1 << 18  # bytes per read: larger reads are not faster, and do not fit into the core's cache
PARQUET = 1 << 18  # bytes of rows to decode at once
BATCH_BYTES, BATCH_TEXTS = 1 << 16, 64  # texts to encode at once: they fit into a core's cache
PAGES = 1 << 23  # bytes of a mapped file to read before its pages are released
SPACES = b" \t\r\v\f"  # characters of a line without a document
HUGE = 1 << 20  # bytes from which a document is read as a stream


class Batch:
    """Some texts. `done`: bytes of input that they used; `where(i)`: the place of text i, for errors."""

    def __init__(self, texts, done, where):
        self.texts, self.done, self.where = texts, done, where


class Stream:
    """One document in pieces of text. `whole_bytes`: its size, if known."""

    def __init__(self, pieces, where, done=lambda: 0, whole_bytes=None):
        self.pieces, self.where, self.done, self.whole_bytes = pieces, where, done, whole_bytes


# Units -----------------------------------------------------------------------------------------------------------

UNITS, SMALLEST, LARGEST = 64, 1 << 22, 1 << 28


def unit_bytes(total):
    """Bytes of input per unit. They depend only on the inputs, so the same inputs always have the same units."""
    return min(max(total // UNITS, SMALLEST), LARGEST)


def plan(files):
    """The units, and their bytes of input.

    A unit is a list of spans (file, start, end); start and end count bytes, row groups or batches. A file that can only
    be read from its beginning is one span. Small files share a unit.
    """
    sizes = [os.stat(file).st_size for file in files]
    size, units, weights, open_unit, unit_size = unit_bytes(sum(sizes)), [], [], [], 0
    for file, length in zip(files, sizes, strict=True):
        for span, weight in spans(file, length, size):
            if open_unit and unit_size + weight > size * 1.25:
                units.append(open_unit)
                weights.append(int(unit_size))
                open_unit, unit_size = [], 0
            open_unit.append(span)
            unit_size += weight
    if open_unit:
        units.append(open_unit)
        weights.append(int(unit_size))
    return units, weights


def spans(file, length, size):
    """The spans of one file, each with its bytes."""
    kind, packing = kind_of(file)
    if kind == "jsonl" and not packing and length > size:
        edges = [*range(0, length - size // 4, size), length]
        return [((file, a, b), b - a) for a, b in itertools.pairwise(edges)]
    if kind == "parquet":
        return parquet_spans(file, size)
    if kind == "arrow":
        count = arrow_count(file)
        return grouped(file, [length / max(count, 1)] * count, size) if length > size else [((file, 0, None), length)]
    return [((file, 0, None), length)]


def arrow_library():
    """pyarrow with the system's allocator, because its own pool keeps freed memory."""
    import pyarrow

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    return pyarrow


def parquet_spans(file, size):
    arrow_library()
    import pyarrow.parquet as pq

    with refusing(file):
        metadata = pq.read_metadata(file)
        weights = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    packed = os.stat(file).st_size / max(sum(weights), 1)
    return grouped(file, [weight * packed for weight in weights], size)


def arrow_count(file):
    """The number of batches of an Arrow file. Raises Refused if it is truncated."""
    with ArrowFile(file) as source, refusing(file):
        return source.count()


def grouped(file, weights, size):
    """Spans of neighbouring parts, each up to `size` bytes."""
    groups, start, group_size = [], 0, 0
    for at, weight in enumerate(weights):
        if at > start and group_size + weight > size:
            groups.append(((file, start, at), group_size))
            start, group_size = at, 0
        group_size += weight
    if weights:
        groups.append(((file, start, len(weights)), group_size))
    return groups


class refusing:  # noqa: N801 - used as a statement
    """Turns errors of pyarrow and the system into one line."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None or isinstance(error, Refused) or not isinstance(error, Exception):
            return False
        if isinstance(error, UnicodeDecodeError):
            raise Refused(f"{self.file}: not UTF-8 (0x{error.object[error.start]:02x})") from None
        if isinstance(error, (OSError, ValueError, EOFError, zlib.error, KeyError, NotImplementedError)):
            message = " ".join(str(error).split())[:300] or type(error).__name__
            raise Refused(f"{self.file}: cannot be read ({message})") from None
        return False


# Reading ---------------------------------------------------------------------------------------------------------


def read(spans, column, huge=HUGE):
    """Yield batches and streams of the documents of some spans, in order. Raises Refused."""
    for file, start, end in spans:
        kind, packing = kind_of(file)
        with refusing(file):
            yield from READERS[kind](file, packing, start, end, column, huge)


class Source:
    """A file, decompressed, from a position on. `grown()`: bytes of the file read since the last call."""

    def __init__(self, file, packing, start=0, end=None):
        self.file, self.packing, self.reported, self.ended = file, packing, start, False
        self.last = os.stat(file).st_size if end is None else end  # bytes read ahead belong to the next span
        if packing and not os.stat(file).st_size:
            raise Refused(f"{file}: empty, not a {packing} file")
        self.beneath = self.opened = open(file, "rb", buffering=0)
        self.beneath.seek(start)
        if packing == "gzip":
            self.opened = gzip.GzipFile(fileobj=self.beneath)
        elif packing:
            pyarrow = arrow_library()
            self.opened = pyarrow.CompressedInputStream(pyarrow.PythonFile(self.beneath, "r"), "zstd")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.beneath.close()

    def into(self, view):
        """Read into a view and return the number of bytes; 0 at the end. Raises Refused."""
        try:
            count = self.opened.readinto(view)
        except (EOFError, OSError, zlib.error) as error:
            if not self.packing:
                raise
            message = " ".join(str(error).split())
            raise Refused(f"{self.file}: truncated, or not a {self.packing} file ({message})") from None
        self.ended = not count
        return count

    def chunks(self):
        view = memoryview(bytearray(CHUNK))
        while count := self.into(view):
            yield bytes(view[:count])

    def grown(self):
        if self.packing == "zstd" and not self.ended:  # zstd reads ahead
            return 0
        now = self.last if self.ended else min(self.beneath.tell(), self.last)
        more, self.reported = now - self.reported, now
        return more


class Buffer:
    """The lines of a source, in a reused buffer.

    `raw[begin:end]`: bytes that are read but not used yet; `base`: the position of `raw[0]` in the decompressed file.
    """

    def __init__(self, source, base):
        self.source, self.base, self.begin, self.end = source, base, 0, 0
        self.room(2 * CHUNK)

    def room(self, size):
        self.raw = bytearray(size)
        self.view = memoryview(self.raw)

    def more(self):
        """Read more bytes; return whether there were any."""
        unread, left, size = self.view[self.begin : self.end], self.end - self.begin, 2 * CHUNK
        while left > size // 2:
            size *= 2
        if size != len(self.raw):
            self.room(size)
        self.view[:left] = unread
        self.base, self.begin = self.base + self.begin, 0
        self.end = left + self.source.into(self.view[left:])
        return self.end > left

    def line(self):
        """Yield the next line in chunks of bytes, without its line break."""
        while True:
            stop = self.raw.find(b"\n", self.begin, self.end)
            last = self.end if stop < 0 else stop
            chunk = bytes(self.view[self.begin : last])
            self.begin = last + (stop >= 0)
            yield chunk
            if stop >= 0 or not self.more():
                return


def jsonl(file, packing, start, end, column, huge):
    """Yield the documents of lines that begin in a span of bytes."""
    lines, batch, numbers, held, number = json_text.Lines(column), [], [], 0, 0
    limit = end if end is not None else float("inf")

    def next_batch():
        nonlocal batch, numbers, held
        result = Batch(batch, source.grown(), lambda i, n=numbers: line_place(file, start, n[i]))
        batch, numbers, held = [], [], 0
        return result

    with Source(file, packing, max(start - 1, 0), end) as source:
        buffer = Buffer(source, max(start - 1, 0))
        if not skip_to_line(buffer, start, limit):
            return
        while True:
            raw, view, begin, last = buffer.raw, buffer.view, buffer.begin, buffer.end
            edge = limit - buffer.base
            while begin < edge and (stop := raw.find(b"\n", begin, last)) >= 0:
                if stop > begin and not (raw[begin] in SPACES and raw[begin:stop].isspace()):
                    batch.append(line_text(lines, view[begin:stop], file, start, number))
                    numbers.append(number)
                    held += stop - begin
                begin, number = stop + 1, number + 1
                if held >= BATCH_BYTES or len(batch) >= BATCH_TEXTS:
                    yield next_batch()
            buffer.begin = begin
            if begin >= edge:
                break
            if last - begin >= huge:
                if batch:
                    yield next_batch()
                rest = buffer.line()
                place = line_place(file, start, number)
                yield Stream(located(json_text.Stream(rest, column).pieces(), place), place, source.grown)
                number += 1
                for _ in rest:
                    pass
            elif not buffer.more():
                rest = buffer.view[buffer.begin : buffer.end]
                if rest and not bytes(rest).isspace():
                    batch.append(line_text(lines, rest, file, start, number))
                    numbers.append(number)
                break
        yield next_batch()


def line_place(file, start, index):
    """The place of a line for errors, by its index in a span from byte `start` on."""
    return f"{file}, line {index + 1}" + (f" after byte {start}" if start else "")


def line_text(lines, line, file, start, index):
    """The text of a line. Raises Refused with the line's place."""
    try:
        return lines.text(line)
    except Refused as error:
        if index == 0 and start == 0 and bytes(line).strip().startswith(b"["):
            raise Refused(f"{file}: one JSON array; it has to be JSON Lines, an object a line") from None
        raise Refused(f"{line_place(file, start, index)}: {error}") from None


def skip_to_line(buffer, start, limit):
    """Skip a line that began before the span, or a byte order mark. Returns whether a line begins in the span."""
    if start:
        return all(buffer.base + buffer.begin < limit for _ in buffer.line())
    while buffer.end < len(codecs.BOM_UTF8) and buffer.more():
        pass
    buffer.begin = len(codecs.BOM_UTF8) if buffer.raw.startswith(codecs.BOM_UTF8) else 0
    return True


def located(pieces, where):
    """Yield the pieces; add the place to errors."""
    try:
        yield from pieces
    except Refused as error:
        raise Refused(f"{where}: {error}") from None


def plain_text(file, packing, start, end, column, huge):
    """Yield a text file as one document, without a byte order mark."""
    decode, texts, size = codecs.getincrementaldecoder("utf-8-sig")(), [], 0

    def decoded(raw, final=False):
        try:
            return decode.decode(raw, final)
        except UnicodeDecodeError as error:
            raise Refused(f"{file}: not UTF-8 (0x{error.object[error.start]:02x})") from None

    def rest():
        yield "".join(texts)
        for chunk in chunks:
            yield decoded(chunk)
        yield decoded(b"", True)

    with Source(file, packing) as source:
        chunks = source.chunks()
        for chunk in chunks:
            size += len(chunk)
            texts.append(decoded(chunk))
            if size >= huge:
                yield Stream(rest(), file, source.grown)
                return
        texts.append(decoded(b"", True))
        yield Batch(["".join(texts)], source.grown(), lambda index: file)


def csv_rows(file, packing, start, end, column, huge):
    """Yield rows of a CSV file with a header; fields are text, unchanged."""

    def lines():
        decode, kept = codecs.getincrementaldecoder("utf-8-sig")(), ""
        for chunk in itertools.chain(source.chunks(), [b""]):
            try:
                kept += decode.decode(chunk, not chunk)
            except UnicodeDecodeError as error:
                raise Refused(f"{file}: not UTF-8 (0x{error.object[error.start]:02x})") from None
            complete = kept.split("\n")
            kept = complete.pop()
            if len(kept) > csv.field_size_limit():
                raise Refused(f"{file}: a line of more than {csv.field_size_limit():,} characters")
            for line in complete:
                yield line + "\n"
        if kept:
            yield kept

    with Source(file, packing) as source:
        rows = csv.reader(lines(), delimiter="\t" if kind_of(file)[0] == "tsv" else ",", strict=True)
        try:
            header = next(rows, None)
            if header is None:
                return
            if column not in header:
                raise Refused(f"{file}: no column {column!r} (there are: {', '.join(map(repr, header[:8]))})")
            place, batch, batch_size, number = header.index(column), [], 0, 1
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise Refused(f"{file}, line {rows.line_num}: {len(row)} fields, and the header has {len(header)}")
                batch.append(row[place])
                batch_size += len(row[place])
                if batch_size >= BATCH_BYTES or len(batch) >= BATCH_TEXTS:
                    yield Batch(batch, source.grown(), lambda i, n=number: f"{file}, row {n + i}")
                    number += len(batch)
                    batch, batch_size = [], 0
        except csv.Error as error:
            raise Refused(f"{file}, line {rows.line_num}: not CSV ({error})") from None
        yield Batch(batch, source.grown(), lambda i: f"{file}, row {number + i}")


def parquet(file, packing, start, end, column, huge):
    """Yield rows of some row groups, page by page."""
    pyarrow = arrow_library()
    import pyarrow.parquet as pq

    with pyarrow.OSFile(file) as beneath:
        source = pq.ParquetFile(beneath, pre_buffer=False, buffer_size=CHUNK)
        of_schema(file, source.schema_arrow, column)
        paths = [source.metadata.schema.column(i).path for i in range(len(source.metadata.schema))]
        groups = range(source.num_row_groups) if end is None else range(start, end)
        row = sum(source.metadata.row_group(i).num_rows for i in range(start or 0))
        for group in groups:
            row_group = source.metadata.row_group(group)
            chunk = row_group.column(paths.index(column))
            bytes_a_row = max(chunk.total_uncompressed_size // max(row_group.num_rows, 1), 1)
            rows = min(max(PARQUET // bytes_a_row, 1), 10_000)
            left = sum(row_group.column(i).total_compressed_size for i in range(row_group.num_columns))
            share = left / max(row_group.num_rows, 1)
            for batch in source.iter_batches(rows, row_groups=[group], columns=[column], use_threads=False):
                # A name with a dot also selects the inner column of another column.
                place = of_schema(file, batch.schema, column)
                yield from of_array(batch.column(place), file, row, huge, share)
                row += len(batch)


def arrow(file, packing, start, end, column, huge):
    """Yield rows of some record batches of an IPC file or stream, without copying."""
    with ArrowFile(file) as source:
        place = of_schema(file, source.schema, column)
        for index, batch in enumerate(source.batches(start, end), start):
            share = batch.nbytes / max(len(batch), 1)
            yield from of_array(batch.column(place), f"{file}, batch {index + 1}", 0, huge, share, source.used)


class ArrowFile:
    """A mapped IPC file or stream, whose pages are released after reading."""

    def __init__(self, file):
        pyarrow = arrow_library()
        self.file, self.read = file, 0
        with refusing(file):
            with open(file, "rb") as opened:
                self.length = os.fstat(opened.fileno()).st_size
                if not self.length:
                    raise Refused(f"{file}: empty, not an Arrow file")
                self.map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
                self.stream = self.map[:6] != b"ARROW1"
            self.buffer = pyarrow.py_buffer(self.map)
            opening = pyarrow.ipc.open_stream if self.stream else pyarrow.ipc.open_file
            self.reader = opening(pyarrow.BufferReader(self.buffer))
            self.schema = self.reader.schema

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader = self.buffer = None

    def count(self):
        """The number of batches. Raises Refused for a stream without end marker, which may be truncated."""
        if not self.stream:
            return self.reader.num_record_batches
        count = sum(1 for _ in self.reader)
        if not self.ends_with_marker():
            raise Refused(f"{self.file}: truncated, or its writer was not closed: the Arrow stream has no end marker")
        return count

    def ends_with_marker(self):
        """Whether an end marker follows the messages of a stream: a length of 0, perhaps after four 0xff bytes."""
        import pyarrow

        place = pyarrow.BufferReader(self.buffer)
        messages, at = pyarrow.ipc.MessageReader.open_stream(place), 0
        while True:
            try:
                messages.read_next_message()
            except StopIteration:
                return self.map[at : at + 8] == b"\xff\xff\xff\xff\0\0\0\0" or self.map[at : at + 4] == b"\0\0\0\0"
            at = place.tell()

    def batches(self, start, end):
        with refusing(self.file):
            if not self.stream:
                for index in range(start, self.reader.num_record_batches if end is None else end):
                    yield self.reader.get_batch(index)
                return
            for index, batch in enumerate(self.reader):
                if end is not None and index >= end:
                    return
                if index >= start:
                    yield batch

    def used(self, size):
        """Release pages once enough were read, because they count as memory of this process."""
        self.read += size
        if self.read >= PAGES:
            self.read = 0
            self.map.madvise(mmap.MADV_DONTNEED)


def of_schema(file, schema, column):
    """The index of a text column. Raises Refused."""
    import pyarrow

    place = schema.get_field_index(column)
    if place < 0:
        columns = ", ".join(map(repr, schema.names[:8])) or "none"
        raise Refused(f"{file}: no column {column!r}, or two of them (there are: {columns})")
    kind = schema.field(place).type
    plain = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    text = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_string_view)
    if not any(is_text(plain) for is_text in text):
        raise Refused(f"{file}: column {column!r} is {kind}, and has to be text")
    return place


def of_array(array, file, row, huge, share, used=lambda size: None):
    """Yield batches and streams of the texts of an array. `share`: input bytes per row; `used` receives the bytes
    read."""
    import numpy as np
    import pyarrow

    if pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()  # the indices or the dictionary may contain a null
    if array.null_count:
        at = array.is_null().index(True).as_py()
        raise Refused(f"{file}, row {row + at + 1}: null, and has to be text; drop such rows first")
    if pyarrow.types.is_string_view(array.type):
        array = array.cast(pyarrow.large_string())
    if not len(array):
        return
    offsets = np.frombuffer(array.buffers()[1], np.int64 if pyarrow.types.is_large_string(array.type) else np.int32)[
        array.offset : array.offset + len(array) + 1
    ]
    at, last, data = 0, len(array), memoryview(array.buffers()[2] or b"")
    while at < last:
        to = int(np.searchsorted(offsets, offsets[at] + BATCH_BYTES, "right")) - 1
        to = min(max(to, at + 1), at + BATCH_TEXTS, last)
        if to == at + 1 and offsets[to] - offsets[at] >= huge:
            begin, size = int(offsets[at]), int(offsets[to] - offsets[at])
            place = f"{file}, row {row + to}"
            raw, shares = data[begin : begin + size], iter((share,))
            yield Stream(of_bytes(raw, place), place, lambda shares=shares: next(shares, 0), size)
        else:
            texts = [str(data[a:b], "utf-8") for a, b in itertools.pairwise(offsets[at : to + 1].tolist())]
            yield Batch(texts, share * (to - at), lambda i, n=row + at: f"{file}, row {n + i + 1}")
        used(int(offsets[to] - offsets[at]))
        at = to


def of_bytes(raw, where):
    """Yield a text of a buffer in pieces."""
    decode = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(raw), CHUNK):
            yield decode.decode(raw[at : at + CHUNK])
        yield decode.decode(b"", True)
    except UnicodeDecodeError as error:
        raise Refused(f"{where}: not UTF-8 (0x{error.object[error.start]:02x})") from None


READERS = {"jsonl": jsonl, "csv": csv_rows, "tsv": csv_rows, "text": plain_text, "parquet": parquet, "arrow": arrow}
