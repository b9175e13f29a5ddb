"""Read documents from files in order, with bounded memory: Parquet, Arrow, JSON Lines, CSV, text.

`plan` divides the inputs into units of work; `read` yields the documents of a unit. pyarrow and numpy are imported only
for files that need them.
"""

import codecs
import contextlib
import csv
import ctypes
import functools
import gc
import gzip
import itertools
import mmap
import os
import zlib

import json_text
import sizes
from inventory import kind_of
from trouble import NeedsMemory, Refused

CHUNK = 1 << 18  # bytes per read: larger reads are not faster, and do not fit into the core's cache
PARQUET = 1 << 18  # bytes of rows to decode at once
BATCH_BYTES, BATCH_TEXTS = 1 << 16, 64  # texts to encode at once: they fit into a core's cache
ROWS = 1 << 12  # rows of a table whose places are looked up at once
PAGES = 1 << 23  # bytes of a mapped file to read before its pages are released
SPACES = b" \t\r\v\f"  # characters of a line without a document
# Most memory for a column, a column of a row group, and a byte of a Parquet footer; and for a byte and an entry of the
# key-value metadata in it, which may be copies of a schema with entries of its own. Measured.
OF_COLUMN, OF_CHUNK, OF_BYTE, OF_METADATA, OF_ENTRY = 1_600, 1_200, 3, 8, 160
ROUGH = 32 << 20  # bytes of memory for a footer up to which a rough bound is enough
BESIDE = 20 << 20  # memory to encode beside a zstd window
LARGE = "write the file with smaller pages, row groups, batches or windows, or less metadata"
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


copies: dict[str, str] = {}
"""The paths of files by their names where these are not paths: of objects of stores, for the unit that is read."""


def path_of(file):
    return copies.get(file, file)


def plan(files, column="text", room=float("inf"), objects=()):
    """The units, and their bytes of input. Raises Refused for a table that is damaged or goes on after its end, or
    needs more than `room` bytes of memory to plan.

    A unit is a list of spans (file, start, end); start and end count bytes, row groups or batches. A file that can only
    be read from its beginning is one span, and so is one of `objects`, {name: [size, …]}. Small files share a unit.
    """
    lengths = [objects[file][0] if file in objects else os.stat(file).st_size for file in files]
    size, units, weights, unit_size = unit_bytes(sum(lengths)), [], [], 0
    open_unit: list[tuple[str, int, int | None]] = []
    for file, length in zip(files, lengths, strict=True):
        is_object = file in objects
        if not is_object and (need := footer_need(file, room)) > room:
            raise Refused(
                f"{file}: reading its footer needs up to {need / 1e6:,.0f} MB of memory, and {int(room) / 1e6:,.0f} MB "
                "are available; write the file with larger row groups or less metadata, or give more"
            )
        if is_object:
            share_library(file)
        for span, weight in [((file, 0, None), length)] if is_object else spans(file, length, size, column):
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


def spans(file, length, size, column):
    """The spans of one file, each with its bytes."""
    kind, packing = kind_of(file)
    if kind == "jsonl" and not packing and length > size:
        edges = [*range(0, length - size // 4, size), length]
        return [((file, a, b), b - a) for a, b in itertools.pairwise(edges)]
    if kind == "parquet":
        return parquet_spans(file, size)
    if kind == "arrow":
        count = arrow_count(file, column)
        return grouped(file, [length / max(count, 1)] * count, size) if length > size else [((file, 0, None), length)]
    return [((file, 0, None), length)]


def share_library(file):
    """Import what reads a file, so that workers forked later share its memory."""
    kind, packing = kind_of(file)
    if kind in ("parquet", "arrow") or packing == "zstd":
        arrow_library()
    if kind == "parquet":
        import pyarrow.parquet  # noqa: F401


def arrived(file, column, room):
    """The spans of an object of which there is a copy now, checked as `plan` checks files. Raises Refused as `plan`,
    NeedsMemory if reading it needs more than `room` bytes."""
    if (need := footer_need(file, room)) > room:
        raise NeedsMemory(need, f"{file}, its footer", LARGE, "reading it")
    parts = [part for part, _ in spans(file, os.stat(path_of(file)).st_size, float("inf"), column)]
    need, where = needs(parts, column)
    if need > room:
        raise NeedsMemory(need, where, LARGE, "reading it")
    return parts


def arrow_library():
    """pyarrow with the system's allocator, because its own pool keeps freed memory, and without threads, whose stacks
    count against the memory limit."""
    import pyarrow

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    pyarrow.set_io_thread_count(1)
    pyarrow.set_cpu_count(1)
    return pyarrow


@functools.lru_cache(64)
def footer_need(file, enough=ROUGH):
    """The most bytes of memory to parse the footer of a Parquet file, counted well if it may be above `enough`; 0 for
    another file."""
    if kind_of(file)[0] != "parquet" or not os.path.getsize(path_of(file)):
        return 0
    with (
        refusing(file),
        open(path_of(file), "rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw,
    ):
        size = int.from_bytes(raw[-8:-4], "little")
        if raw[-4:] != b"PAR1" or size > len(raw) - 8:  # pyarrow says what is wrong
            return 0
        with memoryview(raw)[len(raw) - 8 - size : -8] as footer:
            for whole in (False, True):
                columns, chunks, metadata, entries = sizes.footer(footer, whole)
                need = OF_COLUMN * columns + OF_CHUNK * chunks + OF_BYTE * (size - metadata)
                need += OF_METADATA * metadata + OF_ENTRY * entries
                if need <= enough:
                    break
            return need


LIBC = ctypes.CDLL(None)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


class Heap:
    """How much free memory stays with the C library. The kernel clears each page that it gives: reading Parquet takes a
    third less CPU time if freed pages are used again."""

    KEPT = 1 << 26  # bytes of input, or free bytes at the end of the heap, after which free memory goes back
    tight = True  # free memory goes back to the system at once

    @property
    def trim_bytes(self):
        """Bytes of input after which free memory goes back to the system."""
        return 1 << 22 if self.tight else self.KEPT

    def settle(self, tight):
        """Set what is kept, and one heap for all threads."""
        self.tight = tight
        if hasattr(LIBC, "mallopt"):
            LIBC.mallopt(M_ARENA_MAX, 1)
            LIBC.mallopt(M_MMAP_THRESHOLD, 1 << 20 if tight else 1 << 25)  # the largest that the C library takes
            LIBC.mallopt(M_TRIM_THRESHOLD, self.trim_bytes)


HEAP = Heap()


def trim():
    """Return free heap memory to the system if the C library can: new objects fill ever more of its gaps."""
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)


@contextlib.contextmanager
def parquet_file(file, dictionaries=()):
    """A Parquet file, after the memory of the parsed footer before it was returned (a small one only with a limit).
    Some columns are read as dictionaries."""
    pyarrow = arrow_library()
    import pyarrow.parquet as pq

    if HEAP.tight or footer_need(file) > PAGES:
        gc.collect()  # metadata and its schema refer to each other
        trim()
    with pyarrow.OSFile(path_of(file)) as beneath:
        yield pq.ParquetFile(
            beneath,
            pre_buffer=False,
            buffer_size=CHUNK,
            page_checksum_verification=True,
            read_dictionary=[*dictionaries],
        )


def parquet_spans(file, size):
    with refusing(file), parquet_file(file) as source:
        metadata = source.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        with open(path_of(file), "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            last = max((part_of(groups[-1].column(i))[1] for i in range(metadata.num_columns) if groups), default=4)
            if raw.find(b"PAR1PAR1", last, len(raw) - 8 - metadata.serialized_size) >= 0:
                raise Refused(
                    f"{file}: several Parquet files in one, of which only the last can be found; separate them"
                )
    weights = [group.total_byte_size for group in groups]
    packed = os.stat(path_of(file)).st_size / max(sum(weights), 1)
    return grouped(file, [weight * packed for weight in weights], size)


def part_of(chunk):
    """Where a column of a Parquet row group begins and ends in its file."""
    start = min(at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at is not None)
    return start, start + chunk.total_compressed_size


def arrow_count(file, column):
    """The number of batches of an Arrow file. Raises Refused if it is truncated, damaged or goes on after its end."""
    with ArrowFile(file) as source, refusing(file):
        place = of_schema(file, source.schema, column)
        kinds, count = [field.type for field in source.schema], 0
        for batch in source.messages():
            if batch.dictionary is None:
                count += 1
                first, _, (rows, nulls) = batch.column(kinds, place)
                if rows != batch.rows or batch.nulls(first) not in (None, nulls):
                    raise Refused(f"{file}, batch {count}: damaged, its number of rows or nulls is wrong")
        if not source.stream and count != source.reader.num_record_batches:
            raise Refused(f"{file}: damaged, it has {count} batches and lists {source.reader.num_record_batches}")
        return count


def needs(spans, column):
    """The most bytes of memory that a part of the spans needs at once, as far as tables say it, and its place."""
    most = 0, ""
    for file, start, end in spans:
        kind, packing = kind_of(file)
        needs_of = zstd_needs if packing == "zstd" else {"parquet": parquet_needs, "arrow": arrow_needs}.get(kind)
        with refusing(file):
            for need in needs_of(file, start, end, column) if needs_of else ():
                most = max(most, need)
    return most


def parquet_needs(file, start, end, column):
    """A page is unpacked whole, then its rows are copied; the dictionary is kept twice. The footer is parsed before."""
    footer = footer_need(file)
    beside = f", with the footer of the file ({footer / 1e6:,.0f} MB)" if footer >> 20 else ""
    with (
        parquet_file(file) as source,
        open(path_of(file), "rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw,
    ):
        of_schema(file, source.schema_arrow, column)
        for group in range(start, end):
            chunk = chunk_of(source.metadata, group, column)
            if not chunk.num_values:
                continue
            dictionary = 0
            for is_dictionary, rows, packed, unpacked in sizes.pages(raw, *part_of(chunk)):
                need = unpacked + (packed if chunk.compression != "UNCOMPRESSED" else 0)
                if is_dictionary:
                    dictionary = 2 * unpacked
                    yield footer + need + unpacked, f"{file}, row group {group + 1}, its dictionary{beside}"
                else:
                    copied = unpacked * min(rows_at_once(chunk) / max(rows, 1), 1)
                    yield (
                        int(footer + dictionary + need + copied),
                        f"{file}, row group {group + 1}, a page of {rows:,} rows{beside}",
                    )


def zstd_needs(file, start, end, column):
    """The window of the first frame, which is kept in memory; it may be the whole text."""
    with open(path_of(file), "rb") as opened:
        magic, flags, rest = opened.read(4), int.from_bytes(opened.read(1), "little"), opened.read(13)
    if magic != b"\x28\xb5\x2f\xfd" or len(rest) < 2:
        return
    if flags & 32:
        at, count = (0, 1, 2, 4)[flags & 3], 1 << (flags >> 6)
        window = int.from_bytes(rest[at : at + count], "little")
    else:
        window = 1 << (10 + (rest[0] >> 3))
        window += window // 8 * (rest[0] & 7)
    yield window + BESIDE, f"{file}, its zstd window"


def arrow_needs(file, start, end, column):
    """A compressed batch is unpacked with all its columns. Any other batch is mapped."""
    dictionaries: dict[int, int] = {}
    index = 0
    with ArrowFile(file) as source:
        for batch in source.messages():
            if batch.dictionary is not None:
                before = dictionaries.get(batch.dictionary, 0) if batch.adds else 0
                dictionaries[batch.dictionary] = before + batch.unpacked()
                continue
            index += 1
            if index > start and (end is None or index <= end):
                yield sum(dictionaries.values()) + batch.unpacked(), f"{file}, batch {index}"


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
        if isinstance(error, (OSError, ValueError, EOFError, zlib.error, LookupError, NotImplementedError)):
            message = " ".join(str(error).replace(path_of(self.file), self.file).split())[:300] or type(error).__name__
            if "bad_alloc" in message:
                raise MemoryError from None
            raise Refused(f"{self.file}: cannot be read ({message})") from None
        return False


# Reading ---------------------------------------------------------------------------------------------------------


def read(spans, column, huge=HUGE):
    """Yield batches and streams of the documents of some spans, in order. Raises Refused."""
    for file, start, end in spans:
        kind, packing = kind_of(file)
        with refusing(file):
            yield from READERS[kind](file, packing, start, end, column, huge)


def unpacked(file, packing):
    """A file to read the content of an open one from."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=file)
    if packing:
        pyarrow = arrow_library()
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), "zstd")
    return file


class Source:
    """A file, decompressed, from a position on. `grown()`: bytes of the file read since the last call."""

    def __init__(self, file, packing, start=0, end=None):
        self.file, self.packing, self.reported, self.ended = file, packing, start, False
        size = os.stat(path_of(file)).st_size
        self.last = size if end is None else end  # bytes read ahead belong to the next span
        if packing and not size:
            raise Refused(f"{file}: empty, not a {packing} file")
        self.beneath = open(path_of(file), "rb", buffering=0)
        self.beneath.seek(start)
        self.opened = unpacked(self.beneath, packing)

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
            if "too much memory" in message:
                raise Refused(f"{self.file}: its zstd window is above 134 MB; pack it again without --long") from None
            if "not enough memory" in message:
                raise MemoryError from None
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
    lines, held, number = json_text.Lines(column), 0, 0
    batch: list[str] = []
    numbers: list[int] = []
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
                rest, place, odd, chunk = buffer.line(), line_place(file, start, number), b"", b""
                for chunk in rest:
                    if chunk.strip():
                        break
                    odd = odd or chunk.strip(b" \t\r")[:1]  # blank, but not in JSON
                number += 1
                if not chunk.strip():
                    continue
                rest = itertools.chain((odd, chunk), rest)
                yield Stream(located(json_text.LineStream(rest, column).pieces(), place), place, source.grown)
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
    decode, size = codecs.getincrementaldecoder("utf-8-sig")(), 0
    texts: list[str] = []

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
    held, first = 0, 1  # characters of the row that is being read, and its first line
    too_long = f"of more than {csv.field_size_limit():,} characters does not fit into the memory limit"

    def lines():
        nonlocal held
        decode, kept, number = codecs.getincrementaldecoder("utf-8-sig")(), "", 1
        for chunk in itertools.chain(source.chunks(), [b""]):
            try:
                kept += decode.decode(chunk, not chunk)
            except UnicodeDecodeError as error:
                number += error.object.count(b"\n", 0, error.start)
                raise Refused(f"{file}, line {number}: not UTF-8 (0x{error.object[error.start]:02x})") from None
            complete = kept.split("\n")
            kept = complete.pop()
            if len(kept) > csv.field_size_limit():
                number += len(complete)
                raise Refused(f"{file}, line {number}: a line {too_long}")
            for line in complete:
                if (held := held + len(line)) > csv.field_size_limit():  # of lines and many fields
                    raise Refused(f"{file}, line {first}: a row {too_long}")
                number += 1
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
            held, first = 0, rows.line_num + 1
            for row in rows:
                held, before, first = 0, first, rows.line_num + 1
                if not row:
                    continue
                if len(row) != len(header):
                    raise Refused(f"{file}, line {before}: {len(row)} fields, and the header has {len(header)}")
                batch.append(row[place])
                batch_size += len(row[place])
                if batch_size >= BATCH_BYTES or len(batch) >= BATCH_TEXTS:
                    yield Batch(batch, source.grown(), lambda i, n=number: f"{file}, row {n + i}")
                    number += len(batch)
                    batch, batch_size = [], 0
        except csv.Error as error:
            lines_read = f"line {first}" if rows.line_num <= first else f"lines {first} to {rows.line_num}"
            raise Refused(f"{file}, {lines_read}: not CSV ({error})") from None
        yield Batch(batch, source.grown(), lambda i: f"{file}, row {number + i}")


def parquet(file, packing, start, end, column, huge):
    """Yield rows of some row groups, page by page."""
    with parquet_file(file) as source:
        of_schema(file, source.schema_arrow, column)
        groups = range(source.num_row_groups) if end is None else range(start, end)
        repeats = any(repeated(file, chunk_of(source.metadata, group, column)) for group in groups)
    del source  # its footer
    with parquet_file(file, [column] if repeats else ()) as source:
        row = sum(source.metadata.row_group(i).num_rows for i in range(start or 0))
        for group in groups:
            row_group = source.metadata.row_group(group)
            rows = rows_at_once(chunk_of(source.metadata, group, column))
            left = sum(row_group.column(i).total_compressed_size for i in range(row_group.num_columns))
            share = left / max(row_group.num_rows, 1)
            for batch in source.iter_batches(rows, row_groups=[group], columns=[column], use_threads=False):
                # A name with a dot also selects the inner column of another column.
                place = of_schema(file, batch.schema, column)
                yield from of_array(batch.column(place), file, row, huge, share)
                row += len(batch)
                del batch  # before the next one is made


def chunk_of(metadata, group, column):
    """The metadata of a column in a Parquet row group."""
    paths = [metadata.schema.column(i).path for i in range(len(metadata.schema))]
    return metadata.row_group(group).column(paths.index(column))


def repeated(file, chunk):
    """Whether texts repeat so often that rows take much more memory than their dictionary and places in it."""
    start, end = part_of(chunk)
    if not chunk.num_values:  # then it may have no page
        return False
    with open(path_of(file), "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        is_dictionary, values, _, unpacked = next(sizes.pages(raw, start, end), (False, 0, 0, 0))
    return is_dictionary and unpacked * max(chunk.num_values, 1) > 4 * chunk.total_uncompressed_size * max(values, 1)


def rows_at_once(chunk):
    bytes_a_row = max(chunk.total_uncompressed_size // max(chunk.num_values, 1), 1)
    return min(max(PARQUET // bytes_a_row, 1), 10_000)


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
            with open(path_of(file), "rb") as opened:
                self.length = os.fstat(opened.fileno()).st_size
                if not self.length:
                    raise Refused(f"{file}: empty, not an Arrow file")
                self.map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
                self.stream = self.map[:6] != b"ARROW1"
            self.buffer = pyarrow.py_buffer(self.map)
            opening = pyarrow.ipc.open_stream if self.stream else pyarrow.ipc.open_file
            options = pyarrow.ipc.IpcReadOptions(use_threads=False)
            self.reader = opening(pyarrow.BufferReader(self.buffer), options=options)
            self.schema = self.reader.schema

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader = self.buffer = None

    def messages(self):
        """What each record batch and dictionary says about itself. Raises Refused unless the file ends after them."""
        import pyarrow

        if not self.stream:
            yield from self.messages_of_footer()
            return
        place = pyarrow.BufferReader(self.buffer)
        messages = pyarrow.ipc.MessageReader.open_stream(place)
        at = 0
        while True:
            try:
                message = messages.read_next_message()
            except StopIteration:
                break
            at = place.tell()
            if message.type in ("record batch", "dictionary"):
                yield sizes.BatchMessage(message)
        marker = self.marker(at)
        if not marker:
            raise Refused(f"{self.file}: truncated, or its writer was not closed: the Arrow stream has no end marker")
        self.refuse_more(self.length - at - marker)

    def messages_of_footer(self):
        """The same of an IPC file, whose first message, the schema, some writers leave without its length."""
        import pyarrow

        footer = int.from_bytes(self.map[-10:-6], "little")
        stop = self.length - 10 - footer
        dictionaries, batches = sizes.blocks(self.map[stop:-10])
        blocks = sorted(dictionaries + batches)
        if self.map[8:12] == b"\xff" * 4:
            at = 16 + int.from_bytes(self.map[12:16], "little")
        elif (at := blocks[0][0] if blocks else stop) > 8 + footer + 64:  # the footer has the schema too
            self.refuse_more(at - 8 - footer)
        for start, header, body in blocks:
            if min(header, body) < 0 or not 0 <= start - at < 64 or start + header + body > stop:
                raise Refused(f"{self.file}: damaged, its footer does not list what is in it")
            at = start + header + body
        more = stop - at - self.marker(at)
        if more > 64 or any(self.map[stop - max(more, 0) : stop]):
            self.refuse_more(more)
        for start, header, body in dictionaries + batches:
            yield sizes.BatchMessage(
                pyarrow.ipc.read_message(pyarrow.BufferReader(self.buffer.slice(start, header + body)))
            )

    def marker(self, at):
        """The length of an end marker: a length of 0, perhaps after four 0xff bytes."""
        return next((len(m) for m in (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0") if self.map[at : at + len(m)] == m), 0)

    def refuse_more(self, more):
        if more > 0:
            raise Refused(
                f"{self.file}: {more:,} bytes after the end marker of Arrow; if these are several streams or files in "
                "one, separate them"
            )

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
    for first in range(0, len(array), ROWS):
        part = array if len(array) <= ROWS else array.slice(first, ROWS)
        yield from of_rows(part, file, row + first, huge, share, used)


def of_rows(array, file, row, huge, share, used):
    data, numbers, starts, ends = places(array, file, row)
    sums = (ends - starts).cumsum()
    numbers = None if numbers is None else numbers.tolist()
    starts, ends = starts.tolist(), ends.tolist()
    at, last, before = 0, len(array), 0
    while at < last:
        to = int(sums.searchsorted(before + BATCH_BYTES, "right"))
        to = min(max(to, at + 1), at + BATCH_TEXTS, last)
        size = int(sums[to - 1]) - before
        if to == at + 1 and size >= huge:
            place = f"{file}, row {row + to}"
            raw, shares = data[numbers[at] if numbers else 0][starts[at] : ends[at]], iter((share,))
            yield Stream(of_bytes(raw, place), place, lambda shares=shares: next(shares, 0), size)
        else:
            if numbers:
                parts = zip(numbers[at:to], starts[at:to], ends[at:to], strict=True)
                texts = [str(data[number][a:b], "utf-8") for number, a, b in parts]
            else:
                raw = data[0]
                texts = [str(raw[a:b], "utf-8") for a, b in zip(starts[at:to], ends[at:to], strict=True)]
            yield Batch(texts, share * (to - at), lambda i, n=row + at: f"{file}, row {n + i + 1}")
        used(size)
        at, before = to, before + size


def places(array, file, row):
    """Buffers of an array's texts; and for each text the buffer's number, start and end (numbers are None if there is
    one buffer). Raises Refused for nulls, and for places that the format does not allow."""
    import numpy as np
    import pyarrow

    rows, values, nulls = None, array, array.is_null() if array.null_count else None
    if pyarrow.types.is_dictionary(array.type) and nulls is None:
        rows, values = array.indices.to_numpy().astype(np.int64), array.dictionary
        refuse_damaged((rows < 0) | (rows >= len(values)), file, row, "its index is not in the dictionary")
        if values.null_count:
            nulls = values.is_null().take(pyarrow.array(rows))
    if nulls is not None and (at := nulls.index(True).as_py()) >= 0:
        raise Refused(f"{file}, row {row + at + 1}: null, and has to be text; drop such rows first")
    buffers, end = values.buffers(), values.offset + len(values)
    if pyarrow.types.is_string_view(values.type):
        rows = np.arange(len(values)) if rows is None else rows
        return places_of_views(buffers[1:], rows + values.offset, end, file, row)
    size = "i8" if pyarrow.types.is_large_string(values.type) else "i4"
    offsets, data = np.frombuffer(buffers[1], size, end + 1)[values.offset :], memoryview(buffers[2] or b"")
    starts, ends = (offsets[:-1], offsets[1:]) if rows is None else (offsets[rows], offsets[rows + 1])
    outside = (starts < 0) | (ends < starts) | (ends > len(data))
    refuse_damaged(outside, file, row, "its text is not inside its buffer")
    return [data], None, starts, ends


def places_of_views(buffers, rows, end, file, row):
    """`places` of string views. Short texts are inside their views, the first buffer."""
    import numpy as np

    views = np.frombuffer(buffers[0], np.int32, 4 * end).reshape(-1, 4)[rows]
    lengths, inside = views[:, 0].astype(np.int64), views[:, 0] <= 12
    numbers = np.where(inside, 0, views[:, 2] + 1)
    starts = np.where(inside, 16 * rows + 4, views[:, 3])
    outside = (lengths < 0) | (starts < 0) | (numbers < 0) | (numbers >= len(buffers))
    outside |= starts + lengths > np.array([buffer.size for buffer in buffers])[np.where(outside, 0, numbers)]
    refuse_damaged(outside, file, row, "its text is not inside its buffer")
    for number, buffer in enumerate(buffers[1:], 1):
        here = np.flatnonzero(numbers == number)
        firsts = np.frombuffer(buffer, np.uint8)[starts[here, None] + np.arange(4)]
        wrong = np.zeros(len(rows), bool)
        wrong[here] = (firsts != np.ascontiguousarray(views[here, 1]).view(np.uint8).reshape(-1, 4)).any(axis=1)
        refuse_damaged(wrong, file, row, "its text does not begin as its view says")
    return [memoryview(buffer) for buffer in buffers], numbers, starts, starts + lengths


def refuse_damaged(wrong, file, row, why):
    if wrong.any():
        raise Refused(f"{file}, row {row + int(wrong.argmax()) + 1}: damaged, {why}")


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
