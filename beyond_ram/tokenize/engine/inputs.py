"""Read documents from files in order, with bounded memory: JSON Lines, CSV, text; Parquet and Arrow by `columnar`.

`plan` divides the inputs into units of work; `read` yields the documents of a unit.
"""

import codecs
import csv
import itertools
import os

import json_text
from columnar import arrow, arrow_count, arrow_needs, grouped, parquet, parquet_needs, parquet_spans
from inventory import kind_of
from sources import BATCH_BYTES, BATCH_TEXTS, HUGE, Batch, Buffer, Source, Stream, arrow_library, path_of, refusing
from trouble import NeedsMemory, Refused

SPACES = b" \t\r\v\f"  # characters of a line without a document
LARGE = "write the file with smaller pages or batches"
UNITS, SMALLEST, LARGEST = 64, 1 << 22, 1 << 28


def plan(files, column="text", objects=()):
    """The units, and their bytes of input. Raises Refused for a table that is damaged or goes on after its end, or
    needs more memory to plan than this process may have.

    A unit is a list of spans (file, start, end); start and end count bytes, row groups or batches. A file that can only
    be read from its beginning is one span, and so is one of `objects`, {name: [size, …]}. Small files share a unit.
    """
    lengths = [objects[file][0] if file in objects else os.stat(file).st_size for file in files]
    # Only the inputs determine the size of units, so the same inputs always have the same units.
    size, units, weights, unit_size = min(max(sum(lengths) // UNITS, SMALLEST), LARGEST), [], [], 0
    open_unit: list[tuple[str, int, int | None]] = []
    for file, length in zip(files, lengths, strict=True):
        if file in objects:
            share_library(file)
            parts = [((file, 0, None), length)]
        else:
            try:
                parts = spans(file, length, size, column)
            except MemoryError:
                raise Refused(f"{file}: to know its parts needs more memory than there is; give more") from None
        for span, weight in parts:
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
    if kind == "arrow" and (count := arrow_count(file, column)) and length > size:
        return grouped(file, [length / count] * count, size)
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
    parts = [part for part, _ in spans(file, os.stat(path_of(file)).st_size, float("inf"), column)]
    need, where = needs(parts, column)
    if need > room:
        raise NeedsMemory(need, where, LARGE, "reading it")
    return parts


def needs(spans, column):
    """The most bytes of memory that a part of the spans needs at once, as far as tables say it, and its place."""
    most = 0, ""
    for file, start, end in spans:
        needs_of = {"parquet": parquet_needs, "arrow": arrow_needs}.get(kind_of(file)[0])
        with refusing(file):
            for need in needs_of(file, start, end, column) if needs_of else ():
                most = max(most, need)
    return most


def read(spans, column, huge=HUGE):
    """Yield batches and streams of the documents of some spans, in order. Raises Refused."""
    for file, start, end in spans:
        kind, packing = kind_of(file)
        with refusing(file):
            yield from READERS[kind](file, packing, start, end, column, huge)


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

    def lines():
        decode, rest = codecs.getincrementaldecoder("utf-8-sig")(), ""
        for chunk in itertools.chain(source.chunks(), [b""]):
            try:
                *complete, rest = (rest + decode.decode(chunk, not chunk)).split("\n")
            except UnicodeDecodeError as error:
                line = rows.line_num + error.object[: error.start].count(b"\n") + 1
                raise Refused(f"{file}, line {line}: not UTF-8 (0x{error.object[error.start]:02x})") from None
            yield from (line + "\n" for line in complete)
            if len(rest) > (most := csv.field_size_limit()):
                raise Refused(f"{file}, line {rows.line_num + 1}: more than {most:,} characters do not fit into memory")
        if rest:
            yield rest

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


READERS = {"jsonl": jsonl, "csv": csv_rows, "tsv": csv_rows, "text": plain_text, "parquet": parquet, "arrow": arrow}
