"""Your own files: text, JSON Lines, CSV, Parquet, Arrow; the first three may be compressed (.gz, .zst).

    {"source": "files", "glob": "data/**/*.parquet", "format": null, "text_column": "text",
     "documents_per_file": 1}

`glob` is a pattern or a list of patterns, relative to the working directory; files are read in the order of their
paths, each once. A text file is one document; other formats have a document per row. Without `format` the file's ending
decides. The files are read as `beyond-ram tokenize` reads them.
"""

from __future__ import annotations

import csv
import functools
import glob
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shards import CorpusPlan, Document, SourceError, run

ENGINE = Path(__file__).resolve().parents[2] / "beyond_ram" / "tokenize" / "engine"
sys.path.append(str(ENGINE))  # last, so that it hides no module of this folder

import inputs  # noqa: E402
import sources  # noqa: E402
from inventory import ENDS, PACKED, STATES, Disk, kind_of, saved, what  # noqa: E402
from trouble import Refused  # noqa: E402

ROW_CHARACTERS = 1 << 26  # of a row of CSV, which is in memory whole


def matched(patterns: str | list[str], wanted: str | None) -> list[str]:
    """The files that the patterns match, sorted, each once, of a saved dataset only its own. Raises Refused."""
    files: dict[str, str] = {}
    members = functools.cache(functools.partial(saved, Disk(), names=STATES))
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        paths = glob.glob(str(Path(pattern).expanduser()), recursive=True)  # noqa: PTH207 - absolute patterns
        if not (paths := sorted(path for path in paths if what(path) == "file")):
            raise Refused(f'"glob" {pattern!r} matches no file (working directory {Path.cwd()})')
        for path in paths:
            folder, name = os.path.split(path)
            if name in (members(folder or ".") or [name]):
                first = files.setdefault(os.path.realpath(path), path)
                if not wanted and kind_of(first) != kind_of(path):
                    raise Refused(f"{path} and {first} are one file, and their endings mean two kinds; set `format`")
    return sorted(files.values())


def format_of(path: str, wanted: str | None) -> str:
    """The engine's format of a file, by its name unless `wanted` is set."""
    kind = {"txt": "text"}.get(wanted, wanted) if wanted else kind_of(path)[0]
    if kind is None:
        ends = f"{', '.join(ENDS)} (text also with {' or '.join(PACKED)})"
        raise SourceError(f'{path} ends in none of {ends}; say how to read it with "format"')
    return kind


def texts(path: str, kind: str, column: str) -> Iterator[str]:
    """The texts of a file, in order. Raises Refused."""
    with sources.refusing(path):
        for (_, start, end), _ in inputs.spans(path, Path(path).stat().st_size, sys.maxsize, column):
            for batch in inputs.READERS[kind](path, kind_of(path)[1], start, end, column, sources.HUGE):
                yield from ["".join(batch.pieces)] if isinstance(batch, sources.Stream) else batch.texts


def documents(files: list[tuple[str, str]], column: str, notes: dict[str, Any]) -> Iterator[Document]:
    """The documents of all files, in order. Refuses a file that cannot be read, by name. `notes` counts empty ones."""
    csv.field_size_limit(ROW_CHARACTERS)
    notes |= {"empty_files": sum(not Path(path).stat().st_size for path, _ in files), "left_out_without_text": 0}
    for path, kind in files:
        try:
            for text in texts(path, kind, column):
                if text:
                    yield Document(text, Path(path).name)
                else:
                    notes["left_out_without_text"] += 1
        except Refused as error:
            raise SourceError(str(error)) from None
        except MemoryError:
            raise SourceError(f"{path} does not fit into memory: a document is read whole") from None


def plan(spec: dict[str, Any]) -> CorpusPlan:
    wanted = spec.get("format")
    try:
        files = [(path, format_of(path, wanted)) for path in matched(spec["glob"], wanted)]
    except Refused as error:
        raise SourceError(str(error)) from None
    tables = any(kind in ("parquet", "arrow") or kind_of(path)[1] == "zstd" for path, kind in files)
    notes: dict[str, Any] = {"input_files": len(files)}
    return CorpusPlan(
        documents(files, spec.get("text_column") or "text", notes),
        documents_per_file=spec.get("documents_per_file", 1),
        libraries=("pyarrow",) if tables else (),
        notes=notes,
    )


if __name__ == "__main__":
    run("files", plan)
