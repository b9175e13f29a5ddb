"""Repository `webdataset`: tars of numbered samples for WebDataset. Standard library only.

A sample is two members: `KEY.json` with its number and the CRC-32 of its payload, and `KEY.bin`, the payload.
"""

import io
import json
import random
import tarfile
import zlib

import repository


def add(tar, name, content):
    """Add one member, whose header is the same in every run."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def write(spec, folder):
    generator = random.Random(spec["seed"])
    (folder / "data").mkdir()
    files = []
    for number in range(spec["files"]):
        path = f"data/train-{number:05d}.tar"
        with tarfile.open(folder / path, "w") as tar:
            for row in range(number * spec["samples_per_file"], (number + 1) * spec["samples_per_file"]):
                payload = generator.randbytes(spec["sample_bytes"])
                add(tar, f"{row:08d}.json", json.dumps({"row": row, "crc": zlib.crc32(payload)}).encode())
                add(tar, f"{row:08d}.bin", payload)
        files.append({"path": path, "bytes": (folder / path).stat().st_size})
    return {
        "source": "webdataset",
        "files": files,
        "samples": spec["files"] * spec["samples_per_file"],
        "bytes": sum(file["bytes"] for file in files),
    }


if __name__ == "__main__":
    repository.make(__doc__, write)
