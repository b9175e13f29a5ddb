"""Repository `video`: one H.264 file. Every frame shows its number as 16 squares that are light or dark."""

import av
import numpy
import repository

BITS, SQUARE = 16, 32  # number of squares, and their side in pixels
LIGHT, DARK = 235, 16


def picture(number, noise, generator, width, height):
    """One frame in YUV 4:2:0: moving grey noise, so that there is something to encode, and the number above it."""
    planes = numpy.full((height * 3 // 2, width), 128, numpy.uint8)
    top, left = generator.integers(0, height), generator.integers(0, width)
    planes[:height] = noise[top : top + height, left : left + width] // 4 + 96
    for bit in range(BITS):
        planes[:SQUARE, SQUARE * bit : SQUARE * (bit + 1)] = LIGHT if number >> bit & 1 else DARK
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


def write(spec, folder):
    path = "data/video.mp4"
    target = folder / path
    target.parent.mkdir()
    width, height, frames = spec["width"], spec["height"], spec["seconds"] * spec["frames_per_second"]
    generator = numpy.random.default_rng(spec["seed"])
    noise = generator.integers(0, 256, (2 * height, 2 * width), dtype=numpy.uint8)
    # The index goes to the front, as in files made for streaming.
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
    return {
        "source": "video",
        "files": [{"path": path, "bytes": target.stat().st_size}],
        "samples": frames,
        "bytes": target.stat().st_size,
        "frames_per_second": spec["frames_per_second"],
    }


if __name__ == "__main__":
    repository.make(__doc__, write)
