# /// script
# dependencies = ["av", "numpy"]
# ///
"""Opens a short video 300 times and decodes its first frame, as random access over many files does."""

import os

import av
import numpy as np

with av.open("video.mp4", "w") as container:
    stream = container.add_stream("mpeg4", rate=30)
    stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
    for number in range(10):
        pixels = np.full((480, 640, 3), 20 * number, dtype=np.uint8)
        for packet in [*stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24"))]:
            container.mux(packet)
    for packet in stream.encode():
        container.mux(packet)
count = 0
for _ in range(300):
    with av.open("video.mp4") as container:
        count += next(container.decode(video=0)).to_ndarray(format="rgb24").shape == (480, 640, 3)
os.unlink("video.mp4")
assert count == 300
print(count)
