# /// script
# dependencies = ["pillow"]
# ///
"""Makes thumbnails of a large JPEG with a reduced decode, and saves them as frames of a GIF."""

import io

from PIL import Image, ImageDraw

photograph = Image.effect_noise((3000, 2000), 40).convert("RGB")
file = io.BytesIO()
photograph.save(file, "JPEG", quality=90)
frames = []
for number in range(40):
    with Image.open(io.BytesIO(file.getvalue())) as image:
        image.draft("RGB", (400, 300))
        image.thumbnail((200, 200))
        ImageDraw.Draw(image).rectangle((number, number, number + 50, number + 50), fill="red")
        frames.append(image.copy())
animated = io.BytesIO()
frames[0].save(animated, "GIF", save_all=True, append_images=frames[1:])
with Image.open(animated) as again:
    count = again.n_frames
assert count == 40 and {frame.size for frame in frames} == {(200, 133)}
print(count)
