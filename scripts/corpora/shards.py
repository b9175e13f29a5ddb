"""Common parts of the corpus programs: command line, writing shards as a stream, refusing in one line.

Standard library only. A corpus is a folder:

    files/000000.jsonl …   one object {"text": str, "label": str} a line, UTF-8
    manifest.json          its content, written last

A program fills an empty folder. `beyond-ram make` provides it, and moves it into place when it is complete.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

PROGRESS_EVERY_S = 5.0


class SourceError(Exception):
    """The input cannot be used. The message is one line: what is wrong, where, what would be right."""


class Document(NamedTuple):
    """One document of a corpus."""

    text: str
    label: str


@dataclass
class CorpusPlan:
    """The result of a source: its documents as a stream, and how to divide them into files.

    `notes` goes into the manifest after the last document is read, so a source may fill it while it streams.
    """

    documents: Iterable[Document]
    documents_per_file: int = 1
    libraries: tuple[str, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    expected: int | None = None


def run(source: str, plan: Callable[[dict[str, Any]], CorpusPlan]) -> NoReturn:
    """The command line of a corpus program: `--name NAME --spec FILE --out FOLDER`.

    Exits with status 0, or with 2 and one line on stderr if the input cannot be used.
    """
    parser = argparse.ArgumentParser(description=f"Prepares a corpus from the source {source!r}.")
    parser.add_argument("--name", required=True, help="name of the corpus in the config")
    parser.add_argument("--spec", required=True, type=Path, help=f'JSON file: {{"source": "{source}", …}}')
    parser.add_argument("--out", required=True, type=Path, help="folder to fill; made where it is not there")
    arguments = parser.parse_args()

    def work() -> None:
        spec = read_spec(arguments.spec)
        write_corpus(arguments.name, spec, plan(spec), empty_folder(arguments.out))

    exit_with(work, f"corpus {arguments.name}")


def exit_with(work: Callable[[], None], subject: str) -> NoReturn:
    """Run `work` and end the process with status 0, 2 for a refusal, 1 for an error of the machine (both with a line),
    or 130.

    All files are closed by then, so the interpreter is not shut down: threads of Arrow may still be releasing objects
    of Python, and abort the process if they do so too late (status 134; github.com/apache/arrow/issues/36389).
    """
    status = 0
    try:
        work()
    except SourceError as error:
        print(f"{subject}: {' '.join(str(error).split())}", file=sys.stderr)
        status = 2
    except OSError as error:  # a full disk, a folder without write permission
        print(f"{subject}: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    os._exit(status)


def read_spec(path: Path) -> dict[str, Any]:
    """The object in the file `--spec`, which the config's model has checked."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise SourceError(f"--spec is no file with JSON ({error})") from None


def empty_folder(path: Path) -> Path:
    """The folder to fill, made if missing. Refuses one that is not empty."""
    if path.exists() and not path.is_dir():
        raise SourceError(f"{path} is a file; --out has to name a folder")
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise SourceError(f"{path} is not empty; `beyond-ram make --out DIR -- PROGRAM…` replaces a folder")
    return path


class _Shard:
    """A file that is being written, with its counts so far."""

    def __init__(self, folder: Path, index: int) -> None:
        self.path = f"files/{index:06d}.jsonl"
        self._handle: BinaryIO = (folder / self.path).open("wb", buffering=1 << 20)
        self._digest = hashlib.sha256()
        self._counts: Counter[str] = Counter()

    def add(self, document: Document) -> None:
        line = json.dumps({"text": document.text, "label": document.label}, ensure_ascii=False, separators=(",", ":"))
        try:
            encoded = line.encode() + b"\n"
        except UnicodeEncodeError:
            raise SourceError(
                f"a document of {document.label!r} holds half of a surrogate pair, which UTF-8 cannot say"
            ) from None
        self._handle.write(encoded)
        self._digest.update(encoded)
        text_bytes = len(document.text) if document.text.isascii() else len(document.text.encode())
        self._counts.update(documents=1, file_bytes=len(encoded), text_bytes=text_bytes, characters=len(document.text))
        self._counts.update(words=len(document.text.split()))

    def close(self) -> dict[str, Any]:
        self._handle.close()
        return {"path": self.path, **self._counts, "sha256": self._digest.hexdigest()}


def write_corpus(name: str, spec: dict[str, Any], plan: CorpusPlan, folder: Path) -> None:
    """Write the documents of `plan`, then the manifest. Keeps one document in memory at a time."""
    (folder / "files").mkdir()
    files: list[dict[str, Any]] = []
    last_report = time.monotonic()
    for index, numbered in groupby(enumerate(plan.documents), lambda one: one[0] // plan.documents_per_file):
        shard = _Shard(folder, index)
        for number, document in numbered:
            shard.add(document)
            if time.monotonic() - last_report > PROGRESS_EVERY_S:
                last_report = time.monotonic()
                of = f" of {plan.expected}" if plan.expected else ""
                print(f"corpus {name}: {number + 1}{of} documents", file=sys.stderr, flush=True)
        files.append(shard.close())
    if not files:
        raise SourceError("the source holds no document")
    manifest = {
        "name": name,
        "source": spec["source"],
        "spec": spec,
        "files": files,
        "documents": sum(file["documents"] for file in files),
        "text_bytes": sum(file["text_bytes"] for file in files),
        "characters": sum(file["characters"] for file in files),
        "words": sum(file["words"] for file in files),
        "sha256": digest_of(file["sha256"] for file in files),
        "notes": plan.notes,
        "python": platform.python_version(),
        "libraries": {library: metadata.version(library) for library in plan.libraries},
    }
    write_json(folder / "manifest.json", manifest)


def digest_of(digests: Iterable[str]) -> str:
    """SHA-256 over hexadecimal digests, a line each: the same as `cut -c1-64 | sha256sum` of a sha256sum listing."""
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def write_json(path: Path, value: object) -> None:
    """Write indented JSON with a line end."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
