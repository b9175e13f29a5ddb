"""Workload `hub-files`: samples from files on a Hub, through `HfFileSystem` below libraries without Hub support.

WebDataset reads a repository of tars from start to end; PyAV decodes frames of a video in random order. Every sample
contains its number, which is checked.
"""

import json
import random
import shutil
import statistics
import sys
import time
import zlib

import events
import release

PACKAGES = ("huggingface-hub", "fsspec", "webdataset", "av", "numpy", "httpx", "httpx2", "requests")
BITS, SQUARE = 16, 32  # the squares of scripts/repositories/video.py


class Files:
    """Files of the repository, opened with blocks of `--block-kb`."""

    def __init__(self, args):
        import huggingface_hub

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
        events.not_applicable("there is no curl here, which WebDataset starts for hf://")
    for sample in webdataset.WebDataset(files.paths, shardshuffle=False, empty_check=False):
        described = json.loads(sample["json"])
        yield described["row"], zlib.crc32(sample["bin"]) == described["crc"], len(sample["bin"])


def frames(args, files):
    """Frames by PyAV, in random order, from one file that stays open."""
    import av

    if args.opener != "filesystem":
        events.not_applicable("curl cannot seek")
    if not args.block_kb:
        events.not_applicable("a file that comes in one request cannot seek")
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


def work(args):
    source = args.manifest.get("source")
    events.phase("import")
    import huggingface_hub  # noqa: F401

    if source == "video":
        import av  # noqa: F401
    else:
        import webdataset  # noqa: F401

    # The clock at the watcher's time, to place the endpoint's log on this run's time axis.
    release.imported(PACKAGES, clock_s=time.monotonic())
    events.phase("read")
    if args.samples > args.manifest["samples"]:
        sys.exit(f"{args.samples} samples asked for, and the repository has {args.manifest['samples']}")
    began = last = time.monotonic()
    files = Files(args)
    came, wrong, size, waits = [], 0, 0, []
    samples = frames(args, files) if source == "video" else tar_samples(args, files)
    for number, whole, length in samples:
        now = time.monotonic()
        waits.append(now - last)
        last = now
        if not came:
            events.emit("first_batch", duration_s=round(now - began, 6))
        came.append(number)
        wrong += not whole
        size += length
        if len(came) == args.samples:
            break
    samples.close()
    events.emit(
        "samples",
        samples=len(came),
        samples_twice=len(came) - len(set(came)),
        samples_wrong=wrong,
        payload_bytes=size,
        duration_s=round(time.monotonic() - began, 6),
        median_sample_s=round(statistics.median(waits), 6) if waits else None,
    )
    if len(set(came)) != args.samples or wrong:
        sys.exit(f"{len(set(came))} of {args.samples} samples came, {wrong} of them wrong")
    events.mark("work", rows=len(came), bytes_in=size, **events.own_memory())
    return {"filesystem": [files]}


def main():
    args = events.arguments(__doc__, manifest=json.loads, opener=str, block_kb=int, samples=int)
    release.teardown(work(args))


if __name__ == "__main__":
    events.run(main)
