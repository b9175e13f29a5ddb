# /// script
# dependencies = ["av", "numpy"]
# ///
"""Makes a video of 200 frames, then decodes all of them, twice."""

import os

import av
import numpy as np

with av.open("video.mp4", "w") as container:
    stream = container.add_stream("mpeg4", rate=30)
    stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
    for number in range(200):
        pixels = np.full((480, 640, 3), number % 200 + 20, dtype=np.uint8)
        for packet in stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")):
            container.mux(packet)
    for packet in stream.encode():
        container.mux(packet)
for _ in range(2):
    with av.open("video.mp4") as container:
        means = [frame.to_ndarray(format="gray").mean() for frame in container.decode(video=0)]
os.unlink("video.mp4")
assert len(means) == 200 and abs(means[100] - 120) < 8
print(len(means))
