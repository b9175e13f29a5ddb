"""Repository `webdataset`: tars of numbered samples, as WebDataset reads them. Standard library only.

    OUT/datasets/local/NAME/data/train-00000.tar …   what the endpoint serves
    OUT/manifest.json                                what is in it

A sample is two members: `KEY.json` with its number and the CRC-32 of its payload, and `KEY.bin`, the payload.
"""

import argparse
import io
import json
import random
import shutil
import tarfile
import zlib
from pathlib import Path

ORGANISATION = "local"


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", type=json.loads, required=True, help="the repository as the config has it, in JSON")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(argv)


def add(tar, name, content):
    """One member, with nothing in its head that differs from run to run."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def main():
    args = arguments()
    spec = args.spec
    generator = random.Random(spec["seed"])
    partial = args.out.with_name(f".{args.out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    folder = partial / "datasets" / ORGANISATION / args.name
    (folder / "data").mkdir(parents=True)
    files = []
    for number in range(spec["files"]):
        path = f"data/train-{number:05d}.tar"
        with tarfile.open(folder / path, "w") as tar:
            for row in range(number * spec["samples_per_file"], (number + 1) * spec["samples_per_file"]):
                payload = generator.randbytes(spec["sample_bytes"])
                add(tar, f"{row:08d}.json", json.dumps({"row": row, "crc": zlib.crc32(payload)}).encode())
                add(tar, f"{row:08d}.bin", payload)
        files.append({"path": path, "bytes": (folder / path).stat().st_size})
    manifest = {
        "id": f"{ORGANISATION}/{args.name}",
        "source": "webdataset",
        "files": files,
        "samples": spec["files"] * spec["samples_per_file"],
        "bytes": sum(file["bytes"] for file in files),
    }
    (partial / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(args.out, ignore_errors=True)
    partial.replace(args.out)


if __name__ == "__main__":
    main()
