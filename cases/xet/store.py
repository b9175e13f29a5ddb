# /// script
# dependencies = ["hf_xet"]
# ///
"""Makes one file of 512 MB and 2,000 of 100 kB in `files`, which `push.py` reads, and their `storage` for `pull.py`.

`store.py 1 3` makes one file of 1 MB and 3 of 100 kB.
"""

import json
import os
import random
import shutil
import sys

os.environ["HF_HOME"] = os.path.abspath("home")
import hf_xet

megabytes, small = map(int, sys.argv[1:] or (512, 2000))
generator = random.Random(0)
os.makedirs("files", exist_ok=True)
os.makedirs("storage", exist_ok=True)
with open("files/large", "wb") as file:
    for _ in range(megabytes):
        file.write(generator.randbytes(1_000_000))
for number in range(small):
    with open(f"files/{number}", "wb") as file:
        file.write(generator.randbytes(100_000))
names = ["large", *map(str, range(small))]
endpoint = "local://" + os.path.abspath("storage")
uploaded = hf_xet.upload_files([f"files/{name}" for name in names], endpoint, None, None, None, "dataset")
with open("stored.json", "w") as file:
    json.dump([{"hash": one.hash, "size": one.filesize} for one in uploaded], file)
shutil.rmtree("home")
