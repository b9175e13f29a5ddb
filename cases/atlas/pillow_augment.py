# /// script
# dependencies = ["pillow"]
# ///
"""Crops, flips, rotates, blurs and blends an image as augmentation does, 20 times."""

from PIL import Image, ImageEnhance, ImageFilter, ImageOps

image = Image.radial_gradient("L").resize((1200, 900)).convert("RGB")
for number in range(20):
    again = ImageOps.mirror(image.crop((number, number, number + 800, number + 800)))
    again = again.rotate(number, Image.Resampling.BILINEAR).filter(ImageFilter.GaussianBlur(2))
    again = ImageEnhance.Contrast(ImageOps.autocontrast(again)).enhance(1.5)
    blended = Image.blend(again, ImageOps.flip(again), 0.5)
assert ImageOps.flip(blended).size == (800, 800) and blended.getbands() == ("R", "G", "B")
assert ImageOps.mirror(ImageOps.mirror(image)).tobytes() == image.tobytes()
print(blended.size)
