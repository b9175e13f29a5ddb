"""Repository `video`: one H.264 file whose every frame carries its number, as 16 squares that are light or dark.

OUT/datasets/local/NAME/data/video.mp4   what the endpoint serves
OUT/manifest.json                        what is in it
"""

import argparse
import json
import shutil
from pathlib import Path

import av
import numpy

ORGANISATION = "local"
BITS, SQUARE = 16, 32  # the number of squares, and their side in pixels
LIGHT, DARK = 235, 16


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", type=json.loads, required=True, help="the repository as the config has it, in JSON")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(argv)


def picture(number, noise, generator, width, height):
    """One frame in YUV 4:2:0: grey noise that moves, so that there is something to encode, and the number above it."""
    planes = numpy.full((height * 3 // 2, width), 128, numpy.uint8)
    top, left = generator.integers(0, height), generator.integers(0, width)
    planes[:height] = noise[top : top + height, left : left + width] // 4 + 96
    for bit in range(BITS):
        planes[:SQUARE, SQUARE * bit : SQUARE * (bit + 1)] = LIGHT if number >> bit & 1 else DARK
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


def main():
    args = arguments()
    spec = args.spec
    partial = args.out.with_name(f".{args.out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    path = "data/video.mp4"
    target = partial / "datasets" / ORGANISATION / args.name / path
    target.parent.mkdir(parents=True)
    width, height, frames = spec["width"], spec["height"], spec["seconds"] * spec["frames_per_second"]
    generator = numpy.random.default_rng(spec["seed"])
    noise = generator.integers(0, 256, (2 * height, 2 * width), dtype=numpy.uint8)
    # The index at the front, as files that are made for streaming have it.
    with av.open(str(target), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream(
            "libx264", rate=spec["frames_per_second"], options={"preset": "ultrafast", "sc_threshold": "0"}
        )
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.gop_size, stream.bit_rate = spec["frames_between_keys"], spec["bits_per_second"]
        for number in range(frames):
            frame = picture(number, noise, generator, width, height)
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    manifest = {
        "id": f"{ORGANISATION}/{args.name}",
        "source": "video",
        "files": [{"path": path, "bytes": target.stat().st_size}],
        "samples": frames,
        "bytes": target.stat().st_size,
        "frames_per_second": spec["frames_per_second"],
    }
    (partial / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(args.out, ignore_errors=True)
    partial.replace(args.out)


if __name__ == "__main__":
    main()
