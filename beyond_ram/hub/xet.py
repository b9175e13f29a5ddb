"""Read files from the Xet storage of the endpoint: a folder that clients write themselves (`local://`)."""

import struct
from collections.abc import Iterator
from pathlib import Path

import hf_xet

# A shard lists its files: for each a header, its chunks, and by the flags verification entries and metadata.
_SHARD_HEADER_BYTES = _ENTRY_BYTES = 48
_VERIFIED, _HAS_SHA256 = 1 << 31, 1 << 30
_END = b"\xff" * 32


def restore(storage: Path, sha256: str, goal: Path) -> bool:
    """Write a file from storage; False if storage does not have it."""
    for xet_hash, size, own_sha256 in _files(storage):
        if own_sha256 == sha256:
            group = hf_xet.XetSession().new_file_download_group(endpoint=address(storage))
            group.start_download_file(hf_xet.XetFileInfo(xet_hash, size), str(goal))
            group.wait_to_finish()
            return True
    return False


def address(storage: Path) -> str:
    """The address of storage for clients."""
    return f"local://{storage}"


def _files(storage: Path) -> Iterator[tuple[str, int, str]]:
    """The files in storage with a SHA-256, newest first: Xet's hash, the size, the SHA-256."""
    shards = (storage / "xet" / "xorbs" / "shards").glob("*.mdb")
    for shard in sorted(shards, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        content, at = shard.read_bytes(), _SHARD_HEADER_BYTES
        while (own := content[at : at + 32]) != _END:
            flags, chunks = struct.unpack_from("<II", content, at + 32)
            at += _ENTRY_BYTES
            size = sum(struct.unpack_from("<I", content, at + _ENTRY_BYTES * i + 36)[0] for i in range(chunks))
            at += _ENTRY_BYTES * chunks * (2 if flags & _VERIFIED else 1)
            if flags & _HAS_SHA256:
                yield _hexadecimal(own), size, _hexadecimal(content[at : at + 32])
                at += _ENTRY_BYTES


def _hexadecimal(hashed: bytes) -> str:
    """A hash in Xet's notation: four 64-bit numbers, each with its highest digit first."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", hashed))
