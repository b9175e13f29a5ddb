"""A token dataset: N rows of ids and a label, as two .npy files, generated in a stream or from your own file.

The first two ids of a row encode its number (number = first * 32768 + second), and the label is the number modulo
1,000. `sums.npy` has the sum of each row's bytes read as 64-bit integers, modulo 2**64. So a delivered row shows which
one it is and whether it is whole. The ids of your own file stay as they are; there the label is the number.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy
from rows import HALF, LABELS, sums_of

CHUNK_ROWS = 4096
VOCABULARY = 32_000
# Size of the header of numpy.save for a two-dimensional array.
HEADER_BYTES = 128


def generated(spec):
    """Chunks of ids with frequencies that fall off like those of words: id = VOCABULARY * u**3 for uniform u."""
    rng = numpy.random.default_rng(1)
    for start in range(0, spec["rows"], CHUNK_ROWS):
        shape = (min(CHUNK_ROWS, spec["rows"] - start), spec["width"])
        yield (rng.random(shape, dtype=numpy.float32) ** 3 * VOCABULARY).astype(numpy.int32)


def own(spec):
    """The rows of your own file, mapped."""
    path = Path(spec["path"])
    if not spec["dtype"]:
        return numpy.load(path, mmap_mode="r")[: spec["rows"]]
    ids, width = numpy.memmap(path, spec["dtype"], "r"), spec["width"]
    return ids[: len(ids) // width * width].reshape(-1, width)[: spec["rows"]]


def from_own(rows, path):
    """Chunks of your own rows as 32-bit ids."""
    least, most = numpy.iinfo(numpy.int32).min, numpy.iinfo(numpy.int32).max
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = rows[start : start + CHUNK_ROWS]
        if chunk.min() < least or chunk.max() > most:
            sys.exit(f"{path}: rows {start:,} to {start + len(chunk) - 1:,} hold ids that do not fit into 32 bits")
        yield chunk.astype(numpy.int32)


def as_they_are(rows, path):
    """Whether a file's rows are byte for byte those of ids.npy."""
    size = HEADER_BYTES + rows.nbytes
    return rows.dtype == "<i4" and getattr(rows, "offset", None) == HEADER_BYTES and path.stat().st_size == size


def own_number(ids, first):
    """The labels of your own rows: their numbers."""
    return numpy.arange(first, first + len(ids), dtype=numpy.int64)


def number(ids, first):
    """Write each row's number into its first two ids. Returns the labels."""
    numbers = numpy.arange(first, first + len(ids), dtype=numpy.int64)
    ids[:, 0], ids[:, 1] = numbers // HALF, numbers % HALF
    return numbers % LABELS


def write(chunks, out, width, numbered=number, link_to=None):
    """Write ids, labels and sums, a chunk at a time, or the ids as a link. Returns the number of rows."""
    rows, labels, sums = 0, [], []
    ids_path = out / "npy" / "ids.npy"
    with open(os.devnull if link_to else ids_path, "wb") as file:
        header(file, 0, width)
        for ids in chunks:
            ids = numpy.ascontiguousarray(ids)
            labels.append(numbered(ids, rows))
            sums.append(sums_of(ids))
            file.write(ids.data)
            rows += len(ids)
        file.seek(0)
        header(file, rows, width)
    if link_to:
        ids_path.symlink_to(link_to.resolve())
    numpy.save(out / "npy" / "labels.npy", numpy.concatenate(labels))
    numpy.save(out / "sums.npy", numpy.concatenate(sums))
    return rows


def header(file, rows, width):
    """Write the header of an .npy file: 128 bytes for any number of rows."""
    description = {"descr": "<i4", "fortran_order": False, "shape": (rows, width)}
    numpy.lib.format.write_array_header_1_0(file, description)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spec", type=Path, required=True, help="JSON file: the dataset as the config has it")
    parser.add_argument("--out", type=Path, required=True, help="empty folder to fill; made where it is not there")
    args = parser.parse_args()
    spec = json.loads(args.spec.read_text(encoding="utf-8"))
    (args.out / "npy").mkdir(parents=True)
    if spec.get("path"):
        path, source = Path(spec["path"]), own(spec)
        spec["width"] = source.shape[1]
        link = path if as_they_are(source, path) else None
        rows = write(from_own(source, path), args.out, spec["width"], own_number, link)
    else:
        rows = write(generated(spec), args.out, spec["width"])
    described = {**spec, "rows": rows, "bytes": rows * (spec["width"] * 4 + 8)}
    (args.out / "tokens.json").write_text(json.dumps(described, indent=1))


if __name__ == "__main__":
    main()
