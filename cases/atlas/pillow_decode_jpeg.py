# /// script
# dependencies = ["pillow"]
# ///
"""Encodes photographs of 2 megapixels as JPEG, then decodes and resizes them as a training pipeline does."""

import io

from PIL import Image

noise = Image.effect_noise((1600, 1200), 60).convert("RGB")
file = io.BytesIO()
noise.save(file, "JPEG", quality=85)
sizes = set()
for _ in range(60):
    with Image.open(io.BytesIO(file.getvalue())) as image:
        sizes.add(image.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC).size)
assert sizes == {(224, 224)}
print(sizes)
