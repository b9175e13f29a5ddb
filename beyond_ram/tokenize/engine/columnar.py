"""Read Parquet and Arrow files: their documents, the parts that they can be divided into, and the memory that a part
needs.

pyarrow and numpy are imported where they are used: other files need neither.
"""

import codecs
import contextlib
import gc
import mmap
import os

import sizes
from sources import BATCH_BYTES, BATCH_TEXTS, CHUNK, HEAP, Batch, Stream, arrow_library, path_of, refusing, trim
from trouble import Refused

PARQUET = 1 << 18  # bytes of rows to decode at once
ROWS = 1 << 12  # rows of a table whose places are looked up at once
PAGES = 1 << 23  # bytes of a mapped file to read before its pages are released


@contextlib.contextmanager
def mapped(file):
    with open(path_of(file), "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        yield raw


@contextlib.contextmanager
def parquet_file(file, dictionaries=()):
    """A Parquet file. With a limit, the memory of the parsed footer before it is returned first. Some columns are read
    as dictionaries."""
    pyarrow = arrow_library()
    import pyarrow.parquet as pq

    if HEAP.tight:
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
        with mapped(file) as raw:
            last = max((part_of(groups[-1].column(i))[1] for i in range(metadata.num_columns) if groups), default=4)
            if raw.find(b"PAR1PAR1", last, len(raw) - 8 - metadata.serialized_size) >= 0:
                raise Refused(
                    f"{file}: several Parquet files in one, of which only the last can be found; separate them"
                )
    if metadata.num_rows != (rows := sum(group.num_rows for group in groups)):
        raise Refused(f"{file}: damaged, it has {metadata.num_rows:,} rows, and its row groups {rows:,}")
    weights = [group.total_byte_size for group in groups]
    packed = os.stat(path_of(file)).st_size / max(sum(weights), 1)
    return grouped(file, [weight * packed for weight in weights], size)


def part_of(chunk):
    """Where a column of a Parquet row group begins and ends in its file."""
    start = min(at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at is not None)
    return start, start + chunk.total_compressed_size


def chunk_of(metadata, group, column):
    """The metadata of a column in a Parquet row group."""
    paths = [metadata.schema.column(i).path for i in range(len(metadata.schema))]
    return metadata.row_group(group).column(paths.index(column))


def repeated(file, chunk):
    """Whether texts repeat so often that rows take much more memory than their dictionary and places in it."""
    start, end = part_of(chunk)
    if not chunk.num_values:  # then it may have no page
        return False
    with mapped(file) as raw:
        is_dictionary, values, _, unpacked = next(sizes.pages(raw, start, end), (False, 0, 0, 0))
    return is_dictionary and unpacked * max(chunk.num_values, 1) > 4 * chunk.total_uncompressed_size * max(values, 1)


def refuse_other_rows(file, group, row_group, rows, what):
    """Refuse a Parquet row group of which other rows are there than it has. pyarrow reads those without an error."""
    if rows != row_group.num_rows:
        raise Refused(f"{file}, row group {group + 1}: damaged, of {row_group.num_rows:,} rows {what} {rows:,}")


def rows_at_once(chunk):
    bytes_a_row = max(chunk.total_uncompressed_size // max(chunk.num_values, 1), 1)
    return min(max(PARQUET // bytes_a_row, 1), 10_000)


def parquet_needs(file, start, end, column):
    """A page is unpacked whole, then its rows are copied; the dictionary is kept twice."""
    with parquet_file(file) as source, mapped(file) as raw:
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
                    yield need + unpacked, f"{file}, row group {group + 1}, its dictionary"
                else:
                    copied = unpacked * min(rows_at_once(chunk) / max(rows, 1), 1)
                    yield int(dictionary + need + copied), f"{file}, row group {group + 1}, a page of {rows:,} rows"


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
            row_group, first = source.metadata.row_group(group), row
            chunk = chunk_of(source.metadata, group, column)
            rows = rows_at_once(chunk)
            refuse_other_rows(file, group, row_group, chunk.num_values, f"column {column!r} has")
            left = sum(row_group.column(i).total_compressed_size for i in range(row_group.num_columns))
            share = left / max(row_group.num_rows, 1)
            for batch in source.iter_batches(rows, row_groups=[group], columns=[column], use_threads=False):
                # A name with a dot also selects the inner column of another column.
                place = of_schema(file, batch.schema, column)
                yield from of_array(batch.column(place), file, row, huge, share)
                row += len(batch)
                del batch  # before the next one is made
            refuse_other_rows(file, group, row_group, row - first, "its pages have")


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


def of_schema(file, schema, column):
    """The index of a text column. Raises Refused."""
    import pyarrow

    if (count := schema.names.count(column)) != 1:
        columns = ", ".join(map(repr, schema.names[:8])) or "none"
        raise Refused(f"{file}: {count or 'no'} column{'s' * (count > 1)} {column!r} (there are: {columns})")
    place = schema.names.index(column)
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
