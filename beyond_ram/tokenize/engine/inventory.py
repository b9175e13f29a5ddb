"""The input files: what the given names, folders and patterns mean, and what identifies a file. Standard library and
xxhash only."""

import collections
import json
import os
from pathlib import Path

from trouble import Refused

ENDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".txt": "text",
    ".text": "text",
}
PACKED = {".gz": "gzip", ".zst": "zstd"}


def kind_of(path):
    """The format and compression of a file by its name; format None if unknown."""
    path = Path(path)
    packing = PACKED.get(path.suffix.lower())
    inner = path.with_suffix("") if packing else path
    kind = ENDS.get(inner.suffix.lower())
    return kind, packing


def files_of(names):
    """The files of names, folders and patterns, in the given order; files of a folder or pattern are sorted.

    Raises Refused if a name has no file.
    """
    import glob

    files = []
    for name in names:
        path = Path(name).expanduser()
        if path.is_file():
            files.append(str(path))
            continue
        if path.is_dir():
            inside = in_folder(path)
            if not inside:
                raise Refused(f"{name}: no file in this folder that can be read ({', '.join(ENDS)}, also .gz and .zst)")
        else:
            inside = sorted(one for one in glob.glob(str(path), recursive=True) if Path(one).is_file())
            if not inside:
                raise Refused(f"{name}: no such file, folder or pattern with files")
        files += inside
    for file in files:
        kind, packing = kind_of(file)
        if kind is None or (packing and kind in ("parquet", "arrow")):
            raise Refused(f"{file}: cannot be read; it has to end in {', '.join(ENDS)} (text also with .gz or .zst)")
    return [str(Path(file).resolve()) for file in files]


def in_folder(folder):
    """The files of a folder: in the order of `datasets` if it saved them, else all readable ones, sorted."""
    state = folder / "state.json"
    if state.is_file():
        try:
            files = [str(folder / one["filename"]) for one in json.loads(state.read_text())["_data_files"]]
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{state}: not as `datasets` writes it; name the files themselves") from None
        missing = [one for one in files if not Path(one).is_file()]
        if missing:
            raise Refused(f"{state} names {missing[0]}, which does not exist")
        return files
    return sorted(
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and kind_of(path)[0] and not any(p.startswith(".") for p in path.relative_to(folder).parts)
    )


def left_out(names, files):
    """The number of unread files in the named folders, by ending; and the number of empty input files."""
    skipped, read = collections.Counter(), set(files)
    for folder in (Path(name).expanduser() for name in names):
        if not folder.is_dir() or (folder / "state.json").is_file():
            continue
        for path in folder.rglob("*"):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if path.is_file() and not hidden and str(path.resolve()) not in read:
                skipped[path.suffix or path.name] += 1
    return dict(sorted(skipped.items())), sum(not os.stat(file).st_size for file in files)


SAMPLES, SAMPLE = 16, 1 << 12  # places of an input in its digest, and bytes at each


def identity(file):
    """The identity of an input across runs: size, modification time, and a digest of places spread over it."""
    import xxhash

    digest = xxhash.xxh3_128()
    with open(file, "rb", buffering=0) as opened:
        state = os.fstat(opened.fileno())
        for step in range(SAMPLES):
            opened.seek(max(state.st_size - SAMPLE, 0) * step // (SAMPLES - 1))
            digest.update(opened.read(SAMPLE))
    return [file, state.st_size, state.st_mtime_ns, digest.hexdigest()]


def state(file):
    """Values that change with any change of a file during a run: only the kernel sets the time of status change."""
    now = os.stat(file)
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
