"""Repository `video`: one H.264 file. Every frame shows its number as 16 squares that are light or dark."""

import av
import numpy
import repository

BITS, SQUARE = 16, 32  # number of squares, and their side in pixels
LIGHT, DARK = 235, 16
WIDTH, HEIGHT, FRAMES_PER_SECOND, FRAMES_BETWEEN_KEYS, BITS_PER_SECOND = 640, 360, 25, 50, 4_000_000


def picture(number, noise, generator):
    """One frame in YUV 4:2:0: moving grey noise, so that there is something to encode, and the number above it."""
    planes = numpy.full((HEIGHT * 3 // 2, WIDTH), 128, numpy.uint8)
    top, left = generator.integers(0, HEIGHT), generator.integers(0, WIDTH)
    planes[:HEIGHT] = noise[top : top + HEIGHT, left : left + WIDTH] // 4 + 96
    for bit in range(BITS):
        planes[:SQUARE, SQUARE * bit : SQUARE * (bit + 1)] = LIGHT if number >> bit & 1 else DARK
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


def write(spec, folder):
    path = "data/video.mp4"
    target = folder / path
    target.parent.mkdir()
    frames = spec["seconds"] * FRAMES_PER_SECOND
    generator = numpy.random.default_rng(1)
    noise = generator.integers(0, 256, (2 * HEIGHT, 2 * WIDTH), dtype=numpy.uint8)
    # The index goes to the front, as in files made for streaming.
    with av.open(str(target), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream(
            "libx264", rate=FRAMES_PER_SECOND, options={"preset": "ultrafast", "sc_threshold": "0"}
        )
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.gop_size, stream.bit_rate = FRAMES_BETWEEN_KEYS, BITS_PER_SECOND
        for number in range(frames):
            frame = picture(number, noise, generator)
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return {
        "source": "video",
        "files": [{"path": path, "bytes": target.stat().st_size}],
        "samples": frames,
        "bytes": target.stat().st_size,
        "frames_per_second": FRAMES_PER_SECOND,
    }


if __name__ == "__main__":
    repository.make(__doc__, write)
