"""The default corpus: documents without white space, cut from the shared libraries of the running interpreter.

    {"source": "binaries", "documents": 40, "seed": 0}

Byte b of a library becomes the character U+2A00 + b, 3 bytes of UTF-8. The libraries of the locked wheels, in the order
of their paths, form one strip of bytes. Every document is a piece of it, and no byte is used twice. The sizes follow
the quartiles of the corpus where the question was first asked. Every block of 20 documents has one document from each
twentieth of the distribution, so the first 20 files already have the profile. The documents depend only on the lock and
the seed; more documents are added at the end.
"""

from __future__ import annotations

import math
import re
import sysconfig
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from shards import CorpusPlan, Document, SourceError, digest_of, run

FIRST_SYMBOL = 0x2A00
UTF8_BYTES_PER_SYMBOL = 3
SYMBOLS = "".join(chr(FIRST_SYMBOL + byte) for byte in range(256))

# Quantile and size in UTF-8 bytes. The quartiles, the 95 % point and the largest size are recorded. The smallest is
# chosen to give the recorded mean of 1.38 MB if sizes between two points grow by equal factors.
PROFILE = ((0.0, 0.1e6), (0.25, 0.35e6), (0.5, 0.85e6), (0.75, 2.55e6), (0.95, 3.6e6), (1.0, 4.2e6))
BLOCK = 20

SHARED_LIBRARY = re.compile(r"\.so(\.\d[\w.]*)?$")


class Library(NamedTuple):
    """A shared library of a locked wheel."""

    name: str  # path relative to site-packages
    path: Path
    size: int  # bytes
    recorded_digest: str  # as the wheel's RECORD has it


def libraries() -> list[Library]:
    """The shared libraries that the wheels list, in the order of their names.

    Reads RECORD instead of the folder, because caches and entry points differ from machine to machine.
    """
    site_packages = sysconfig.get_path("purelib")
    by_name: dict[str, Library] = {}
    for distribution in metadata.distributions(path=[site_packages]):
        for file in distribution.files or []:
            name = file.as_posix()
            if ".." in file.parts or not SHARED_LIBRARY.search(file.name):
                continue
            path = Path(str(file.locate()))
            if not path.is_file():
                raise SourceError(f"{name} of {distribution.name} is missing from {site_packages}; build it again")
            by_name[name] = Library(name, path, path.stat().st_size, file.hash.value if file.hash else "")
    if not by_name:
        raise SourceError(f"{site_packages} holds no shared library; run this with the interpreter of the stack")
    return [by_name[name] for name in sorted(by_name)]


def size_at(quantile: float) -> int:
    """Bytes of library for a document at this quantile of the recorded distribution."""
    upper = min(bisect_right([point for point, _ in PROFILE], quantile), len(PROFILE) - 1)
    (low, low_size), (high, high_size) = PROFILE[upper - 1], PROFILE[upper]
    share = (quantile - low) / (high - low)
    return round(math.exp(math.log(low_size) * (1 - share) + math.log(high_size) * share) / UTF8_BYTES_PER_SYMBOL)


def sizes(random: Random) -> Iterator[int]:
    """Document sizes in bytes of library, endlessly."""
    while True:
        strata = [(random.random(), stratum) for stratum in range(BLOCK)]
        for _, stratum in sorted(strata):
            yield size_at((stratum + random.random()) / BLOCK)


def layout(material_bytes: int, seed: int) -> list[tuple[int, int]]:
    """The place of each document in the strip, as (start, size), until the strip ends."""
    random = Random(seed)
    lengths: list[int] = []
    used = 0
    for size in sizes(random):
        if used + size > material_bytes:
            break
        lengths.append(size)
        used += size
    # Shuffle, so that the first files are not all from one library.
    order = sorted(range(len(lengths)), key=[random.random() for _ in lengths].__getitem__)
    ends = dict(zip(order, accumulate(lengths[document] for document in order), strict=True))
    return [(ends[document] - size, size) for document, size in enumerate(lengths)]


class Strip:
    """The libraries end to end."""

    def __init__(self, material: Sequence[Library]) -> None:
        self._material = material
        self._ends = list(accumulate(library.size for library in material))

    def library_at(self, position: int) -> int:
        """Index of the library with the byte at `position`."""
        return bisect_right(self._ends, position)

    def read(self, start: int, size: int) -> bytes:
        """`size` bytes from `start`, which may span several libraries."""
        parts = []
        while size:
            index = self.library_at(start)
            library = self._material[index]
            with library.path.open("rb") as handle:
                handle.seek(start - (self._ends[index] - library.size))
                part = handle.read(size)
            if not part:
                raise SourceError(f"{library.name} became shorter while it was read")
            parts.append(part)
            start += len(part)
            size -= len(part)
        return b"".join(parts)


def plan(spec: dict[str, Any]) -> CorpusPlan:
    wanted, seed = spec["documents"], spec.get("seed", 0)
    material = libraries()
    total = sum(library.size for library in material)
    places = layout(total, seed)
    if wanted > len(places):
        raise SourceError(
            f'"documents" is {wanted}; the {len(material)} shared libraries of this stack ({total / 1e6:.0f} MB) '
            f"are enough for {len(places)}"
        )
    strip = Strip(material)

    def documents() -> Iterator[Document]:
        for start, size in places[:wanted]:
            # latin-1 gives every byte one character, so that one translate covers the document.
            text = strip.read(start, size).decode("latin-1").translate(SYMBOLS)
            yield Document(text, material[strip.library_at(start)].name)

    notes = {
        "material": {
            "libraries": len(material),
            "bytes": total,
            "sha256": digest_of(f"{library.recorded_digest}  {library.name}" for library in material),
            "platform": sysconfig.get_platform(),
        },
        "documents_possible": len(places),
    }
    return CorpusPlan(documents(), notes=notes, expected=wanted)


if __name__ == "__main__":
    run("binaries", plan)
