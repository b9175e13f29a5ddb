# /// script
# dependencies = ["hf_xet"]
# ///
"""Pushes the files of `store.py` into an empty storage: `push.py large` the one large file, `push.py small` others."""

import json
import os
import shutil
import sys

os.environ["HF_HOME"] = os.path.abspath("home")
import hf_xet

with open("stored.json") as file:
    large, *small = json.load(file)
stored = {"large": large} if sys.argv[1] == "large" else {str(n): one for n, one in enumerate(small)}
os.makedirs("pushed")
paths = [os.path.realpath(f"files/{name}") for name in stored]
endpoint = "local://" + os.path.abspath("pushed")
pushed = hf_xet.upload_files(paths, endpoint, None, None, None, "dataset")
assert [(one.hash, one.filesize) for one in pushed] == [(one["hash"], one["size"]) for one in stored.values()]
sizes = [os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk("pushed") for name in names]
assert sum(sizes) >= sum(one["size"] for one in stored.values()), "random bytes cannot be stored in less"
for name in ("pushed", "home"):
    shutil.rmtree(name)
print(len(stored))
