# /// script
# dependencies = ["hf_xet"]
# ///
"""Makes `storage` and `stored.json` in this folder, which `pull.py` reads: one file of 512 MB, and 2,000 of 100 kB."""

import json
import os
import random
import shutil

os.environ["HF_HOME"] = os.path.abspath("home")
import hf_xet

generator = random.Random(0)
os.makedirs("files", exist_ok=True)
os.makedirs("storage", exist_ok=True)
with open("files/large", "wb") as file:
    for _ in range(512):
        file.write(generator.randbytes(1_000_000))
for number in range(2000):
    with open(f"files/{number}", "wb") as file:
        file.write(generator.randbytes(100_000))
names = ["large", *map(str, range(2000))]
endpoint = "local://" + os.path.abspath("storage")
uploaded = hf_xet.upload_files([f"files/{name}" for name in names], endpoint, None, None, None, "dataset")
with open("stored.json", "w") as file:
    json.dump([{"hash": one.hash, "size": one.filesize} for one in uploaded], file)
for name in ("files", "home"):
    shutil.rmtree(name)
