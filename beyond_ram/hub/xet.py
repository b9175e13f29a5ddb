"""The Xet storage of the endpoint: a folder that hf_xet itself writes (`local://`). Independent of HTTP.

A file is a list of segments, each some chunks of a xorb. A xorb is a file of compressed chunks.
"""

import bisect
import contextlib
import itertools
import os
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import hf_xet

# A shard lists its files: for each a header, its segments, and by the flags verification entries and metadata.
_SHARD_HEADER_BYTES = _ENTRY_BYTES = 48
_VERIFIED, _HAS_SHA256 = 1 << 31, 1 << 30
_END = b"\xff" * 32
_CHUNK_HEADER_BYTES = 8


@dataclass(frozen=True)
class Segment:
    """Chunks of a xorb, from `first` to before `stop`, which make `size` bytes of a file."""

    xorb: str
    first: int
    stop: int
    size: int


@dataclass(frozen=True)
class Stored:
    """A file in the storage."""

    xet_hash: str
    sha256: str | None
    segments: tuple[Segment, ...]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)


class Storage:
    """Xet storage. Methods raise struct.error if it is damaged. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._shards: set[Path] = set()
        self._files: dict[str, Stored] = {}
        self._by_sha256: dict[str, Stored] = {}
        self._chunks: dict[str, tuple[list[int], list[int]]] = {}

    @property
    def address(self) -> str:
        """The address for a client that writes. Only one process at a time can open it."""
        self._folder.mkdir(exist_ok=True)
        return f"local://{self._folder}"

    def add(self, paths: Mapping[str, Path]) -> None:
        """Store files, by their SHA-256, unless they are there. Raises ValueError if the storage cannot be opened."""
        missing = {sha256: path for sha256, path in paths.items() if not self.find(sha256)}
        if missing:
            try:
                commit = hf_xet.XetSession().new_upload_commit(endpoint=self.address)
            except RuntimeError as error:
                raise ValueError(
                    f"{self._folder}: cannot be opened, does another process write it? ({error})"
                ) from None
            for sha256, path in missing.items():
                commit.start_upload_file(str(path), sha256)
            commit.wait_to_finish()

    def find(self, sha256: str) -> Stored | None:
        """A file by the SHA-256 of its content."""
        self._read_new_shards()
        return self._by_sha256.get(sha256)

    def get(self, xet_hash: str) -> Stored | None:
        """A file by Xet's hash."""
        self._read_new_shards()
        return self._files.get(xet_hash)

    def xorb(self, name: str) -> Path:
        """The file of a xorb, which may not exist."""
        return self._folder / "xet" / "xorbs" / "xorbs" / f"default.{name}"

    def within(self, stored: Stored, start: int, stop: int) -> tuple[int, list[Segment]]:
        """The chunks of a file with its bytes from `start` to before `stop`, and how many bytes before these."""
        at = before = 0
        segments: list[Segment] = []
        for whole in stored.segments:
            begins = [*itertools.accumulate(self._chunks_of(whole.xorb)[1][whole.first : whole.stop], initial=at)]
            first = max(bisect.bisect_right(begins, start) - 1, 0)
            last = min(bisect.bisect_left(begins, stop), len(begins) - 1)
            at = begins[-1]
            if first < last:
                before = before if segments else start - begins[first]
                size = begins[last] - begins[first]
                segments.append(Segment(whole.xorb, whole.first + first, whole.first + last, size))
        return before, segments

    def bytes_of(self, xorb: str, first: int, stop: int) -> tuple[int, int]:
        """The bytes of a xorb that hold some of its chunks, as start and stop."""
        begins, _ = self._chunks_of(xorb)
        return begins[first], begins[stop]

    def _chunks_of(self, xorb: str) -> tuple[list[int], list[int]]:
        """Where each chunk of a xorb begins in it, with the end of the last, and the length of each uncompressed."""
        if xorb not in self._chunks:
            begins, lengths = [0], []
            with self.xorb(xorb).open("rb") as file:
                end = file.seek(-4, os.SEEK_END)
                end -= int.from_bytes(file.read(4), "little")  # the length of the index after the chunks
                while begins[-1] < end:
                    file.seek(begins[-1])
                    # The version in a byte, the length in three, the compression in one, the length without in three.
                    header = file.read(_CHUNK_HEADER_BYTES)
                    begins.append(begins[-1] + _CHUNK_HEADER_BYTES + int.from_bytes(header[1:4], "little"))
                    lengths.append(int.from_bytes(header[5:8], "little"))
            self._chunks[xorb] = begins, lengths
        return self._chunks[xorb]

    def _read_new_shards(self) -> None:
        """Read what was stored since the last call. If a file was stored again, the newer one counts."""
        folder = self._folder / "xet" / "xorbs" / "shards"
        with self._lock, contextlib.suppress(FileNotFoundError):  # nothing is stored yet
            new = {path for path in folder.iterdir() if path.suffix == ".mdb"} - self._shards
            for shard in sorted(new, key=lambda path: path.stat().st_mtime_ns):
                for stored in _files(shard.read_bytes()):
                    self._files[stored.xet_hash] = stored
                    if stored.sha256:
                        self._by_sha256[stored.sha256] = stored
                self._shards.add(shard)


def _files(shard: bytes) -> Iterator[Stored]:
    """The files that a shard lists."""
    at = _SHARD_HEADER_BYTES
    while (own := shard[at : at + 32]) != _END:
        flags, number = struct.unpack_from("<II", shard, at + 32)
        at += _ENTRY_BYTES
        segments = [_segment(shard, at + _ENTRY_BYTES * i) for i in range(number)]
        at += _ENTRY_BYTES * number * (2 if flags & _VERIFIED else 1)
        sha256 = _hexadecimal(shard[at : at + 32]) if flags & _HAS_SHA256 else None
        at += _ENTRY_BYTES if flags & _HAS_SHA256 else 0
        yield Stored(_hexadecimal(own), sha256, tuple(segments))


def _segment(shard: bytes, at: int) -> Segment:
    size, first, stop = struct.unpack_from("<III", shard, at + 36)
    return Segment(_hexadecimal(shard[at : at + 32]), first, stop, size)


def _hexadecimal(hashed: bytes) -> str:
    """A hash in Xet's notation: four 64-bit numbers, each with its highest digit first."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", hashed))
