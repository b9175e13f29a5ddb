"""Your own files: text, JSON Lines, CSV, Parquet, Arrow; the first three may be compressed (.gz, .zst).

    {"source": "files", "glob": "data/**/*.parquet", "format": null, "text_column": "text",
     "documents_per_file": 1}

`glob` is a pattern or a list of patterns, relative to the working directory; files are read in the order of their
paths. A text file is one document; other formats have a document per row. Without `format` the file's ending decides.
JSON Lines and CSV are read by line, Arrow by batch, Parquet by page.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from columns import TextColumn
from shards import CorpusPlan, Document, SourceError, run

# The endings of `beyond-ram tokenize` (beyond_ram/tokenize/engine/inventory.py).
ENDS = {
    ".txt": "txt",
    ".text": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PACKED = (".gz", ".zst")
BATCH_ROWS = 8  # documents may be megabytes each


def matched(patterns: str | list[str]) -> list[str]:
    """The files that match the patterns, sorted, each once."""
    files: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        paths = [
            path
            for path in glob.glob(str(Path(pattern).expanduser()), recursive=True)  # noqa: PTH207 - absolute patterns
            if Path(path).is_file()
        ]
        if not paths:
            raise SourceError(f'"glob" {pattern!r} matches no file (working directory {Path.cwd()})')
        files.update(paths)
    return sorted(files)


def format_of(path: str, wanted: str | None) -> str:
    """The format of a file, by its name unless `wanted` is set."""
    if wanted is not None:
        return wanted
    suffix = inner(path).suffix.lower()
    if suffix not in ENDS:
        ends = f"{', '.join(ENDS)}, nor in one of them and {' or '.join(PACKED)}"
        raise SourceError(f'{path} ends in none of {ends}; say how to read it with "format"')
    if packing(path) and ENDS[suffix] in ("parquet", "arrow"):
        raise SourceError(f"{path} is packed as a whole; unpack it, {suffix} has packing of its own")
    return ENDS[suffix]


def packing(path: str) -> str | None:
    """The ending of a compressed file's name; None without compression."""
    return next((ending for ending in PACKED if path.lower().endswith(ending)), None)


def inner(path: str) -> Path:
    """The name without the ending of the compression."""
    return Path(path[: -len(ending)] if (ending := packing(path)) else path)


def opened(path: str) -> BufferedReader | gzip.GzipFile:
    """A file's bytes, decompressed if necessary."""
    if packing(path) == ".gz":
        return gzip.GzipFile(path)
    if packing(path) == ".zst":
        import pyarrow as pa

        return BufferedReader(pa.CompressedInputStream(pa.OSFile(path), "zstd"))
    return Path(path).open("rb")


def decoded(line: bytes, where: str) -> str:
    """Decode UTF-8, or refuse with the position of the wrong byte."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{where} is not UTF-8 (byte {error.start}: 0x{line[error.start]:02x})") from None


def text_rows(path: str, column: TextColumn) -> Iterator[tuple[dict[str, Any], str]]:
    with opened(path) as handle:
        yield {column.name: decoded(handle.read(), path)}, path


def json_rows(path: str, column: TextColumn) -> Iterator[tuple[dict[str, Any], str]]:
    with opened(path) as handle:
        for number, line in enumerate(handle, 1):
            where = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                row = json.loads(decoded(line, where))
            except ValueError as error:
                raise SourceError(f"{where} is not JSON ({error})") from None
            except RecursionError:
                raise SourceError(f"{where} is JSON that is nested too deeply") from None
            if not isinstance(row, dict):
                raise SourceError(f"{where} holds {type(row).__name__}; it has to be an object")
            column.check(row, where)
            yield row, where


def csv_rows(path: str, column: TextColumn) -> Iterator[tuple[dict[str, Any], str]]:
    csv.field_size_limit(sys.maxsize)
    with opened(path) as handle:
        if handle.peek(3)[:3] == codecs.BOM_UTF8:  # spreadsheets write a BOM
            handle.read(3)
        lines = (decoded(line, f"{path}, line {number}") for number, line in enumerate(handle, 1))
        reader = csv.DictReader(lines, strict=True, delimiter="\t" if inner(path).suffix.lower() == ".tsv" else ",")
        column.check(reader.fieldnames or [], path)
        try:
            for row in reader:
                yield row, f"{path}, line {reader.line_num}"
        except csv.Error as error:
            raise SourceError(f"{path}, line {reader.reader.line_num} is not CSV ({error})") from None


def parquet_rows(path: str, column: TextColumn) -> Iterator[tuple[dict[str, Any], str]]:
    import pyarrow.parquet as pq

    # By default a whole row group is fetched ahead: 195 MB instead of 6 for one of 200 MB. A page is the smallest
    # readable unit, as large as its writer made it. One column gains nothing from threads, for each of which the
    # allocator keeps memory.
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        column.check(file.schema_arrow.names, path)
        for batch in file.iter_batches(BATCH_ROWS, columns=[column.name], use_threads=False):
            yield from ((row, path) for row in batch.to_pylist())


def arrow_rows(path: str, column: TextColumn) -> Iterator[tuple[dict[str, Any], str]]:
    import pyarrow as pa

    with pa.memory_map(path) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        column.check(reader.schema.names, path)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        for batch in batches:
            # Batches are as long as their writer made them; slices cost nothing.
            for start in range(0, batch.num_rows, BATCH_ROWS):
                rows = batch.slice(start, BATCH_ROWS).select([column.name]).to_pylist()
                yield from ((row, path) for row in rows)


READERS: dict[str, Callable[[str, TextColumn], Iterator[tuple[dict[str, Any], str]]]] = {
    "txt": text_rows,
    "jsonl": json_rows,
    "csv": csv_rows,
    "parquet": parquet_rows,
    "arrow": arrow_rows,
}


def documents(inputs: list[tuple[str, str]], column: TextColumn, notes: dict[str, Any]) -> Iterator[Document]:
    """The documents of all files, in order. Refuses a file that cannot be read, by name."""
    empty = [path for path, _ in inputs if not Path(path).stat().st_size]
    notes["empty_files"] = len(empty)
    documents = 0
    for path, kind in inputs:
        try:
            for row, where in READERS[kind](path, column):
                document = column.document(row, where, Path(path).name)
                if document is not None:
                    documents += 1
                    yield document
        except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:  # pyarrow's errors are ValueErrors
            raise SourceError(f"{path} cannot be read as {kind} ({error})") from None
        except MemoryError:
            raise SourceError(
                f"{path} cannot be read as {kind} (it does not fit into memory: a text, or a line, is read whole)"
            ) from None
    notes["left_out_without_text"] = column.left_out_without_text
    if documents and empty:
        print(f"{len(empty)} of {len(inputs)} files are empty: {empty[0]} first", file=sys.stderr)
    if documents and column.left_out_without_text:
        print(f"{column.left_out_without_text:,} rows have no text and are left out", file=sys.stderr)


def plan(spec: dict[str, Any]) -> CorpusPlan:
    wanted = spec.get("format")
    inputs = [(path, format_of(path, wanted)) for path in matched(spec["glob"])]
    column = TextColumn.of(spec)
    tables = any(kind in ("parquet", "arrow") or packing(path) == ".zst" for path, kind in inputs)
    notes: dict[str, Any] = {"input_files": len(inputs)}
    return CorpusPlan(
        documents(inputs, column, notes),
        documents_per_file=spec.get("documents_per_file", 1),
        libraries=("pyarrow",) if tables else (),
        notes=notes,
    )


if __name__ == "__main__":
    run("files", plan)
