# /// script
# dependencies = ["pillow"]
# ///
"""Encodes and decodes PNG and WebP images in memory; the pixels have to come back."""

import hashlib
import io

from PIL import Image

image = Image.radial_gradient("L").resize((900, 700)).convert("RGB")
for form, options in (("PNG", {}), ("WEBP", {"lossless": True})):
    for _ in range(3):
        file = io.BytesIO()
        image.save(file, form, **options)
        with Image.open(file) as again:
            digest = hashlib.sha256(again.convert("RGB").tobytes()).hexdigest()
    assert digest == hashlib.sha256(image.tobytes()).hexdigest()
print(digest)
