"""Samples from files on a Hub, through `HfFileSystem` below libraries without Hub support.

WebDataset reads a repository of tars from start to end; PyAV decodes frames of a video in random order. Every sample
contains its number, which is checked.
"""

import argparse
import json
import random
import shutil
import statistics
import sys
import time
import zlib

import huggingface_hub
from phases import not_applicable, number

BITS, SQUARE = 16, 32  # the squares of scripts/repositories/video.py


class Files:
    """Files of the repository, opened with blocks of `--block-kb`."""

    def __init__(self, args):
        self.block = args.block_kb * 1024
        self.filesystem = huggingface_hub.HfFileSystem()
        self.paths = [f"hf://datasets/{args.manifest['id']}/{file['path']}" for file in args.manifest["files"]]

    def open(self, path, *_):
        return self.filesystem.open(path, "rb", block_size=self.block)


def tar_samples(args, files):
    """Samples by WebDataset, which closes its files: number, whether it is complete, bytes."""
    import webdataset

    if args.opener == "filesystem":
        # The library's hook for schemes: by default it starts curl for hf://.
        webdataset.gopen_schemes["hf"] = files.open
    elif not shutil.which("curl"):
        not_applicable("there is no curl here, which WebDataset starts for hf://")
    for sample in webdataset.WebDataset(files.paths, shardshuffle=False, empty_check=False):
        described = json.loads(sample["json"])
        yield described["row"], zlib.crc32(sample["bin"]) == described["crc"], len(sample["bin"])


def frames(args, files):
    """Frames by PyAV, in random order, from one file that stays open."""
    import av

    if args.opener != "filesystem":
        not_applicable("curl cannot seek")
    if not args.block_kb:
        not_applicable("a file that comes in one request cannot seek")
    rate = args.manifest["frames_per_second"]
    wanted = random.Random(1).sample(range(args.manifest["samples"]), args.samples)
    with files.open(files.paths[0]) as file, av.open(file) as container:
        stream = container.streams.video[0]
        for number in wanted:
            container.seek(int(number / rate / stream.time_base), stream=stream)
            frame = next(frame for frame in container.decode(stream) if round(float(frame.time) * rate) >= number)
            grey = frame.to_ndarray(format="gray")
            yield number, read_number(grey) == number, grey.nbytes


def read_number(grey):
    """The number that a frame shows."""
    middle = [grey[8:24, SQUARE * bit + 8 : SQUARE * bit + 24].mean() for bit in range(BITS)]
    return sum(1 << bit for bit, light in enumerate(middle) if light > 128)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifest", type=json.loads, required=True, help="what the repository has, as JSON")
    parser.add_argument("--opener", choices=("filesystem", "curl"), default="filesystem")
    parser.add_argument("--block-kb", type=int, default=5120, help="0: a whole file in one request")
    parser.add_argument("--samples", type=int, default=100)
    args = parser.parse_args()
    if args.samples > args.manifest["samples"]:
        sys.exit(f"{args.samples} samples asked for, and the repository has {args.manifest['samples']}")
    began = last = time.monotonic()
    files = Files(args)
    came, wrong, size, waits = set(), 0, 0, []
    samples = frames(args, files) if args.manifest.get("source") == "video" else tar_samples(args, files)
    for name, whole, length in samples:
        now = time.monotonic()
        waits.append(now - last)
        last = now
        came.add(name)
        wrong += not whole
        size += length
        if len(waits) == args.samples:
            break
    samples.close()
    if len(came) != args.samples or wrong:
        sys.exit(f"{len(came)} of {args.samples} samples came, {wrong} of them wrong")
    number("Samples", args.samples, "samples", exact=True)
    number("Payload", size, "bytes", exact=True)
    number("Time per sample", 1000 * (time.monotonic() - began) / args.samples, "ms", "lower")
    number("Median time per sample", 1000 * statistics.median(waits), "ms")


if __name__ == "__main__":
    main()
