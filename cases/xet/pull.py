# /// script
# dependencies = ["hf_xet"]
# ///
"""Pulls what `store.py` has stored: `pull.py large` the one large file, `pull.py small` the many small ones."""

import json
import os
import shutil
import sys

os.environ["HF_HOME"] = os.path.abspath("home")
import hf_xet

with open("stored.json") as file:
    large, *small = json.load(file)
stored = [large] if sys.argv[1] == "large" else small
endpoint = "local://" + os.path.realpath("storage")
wanted = [hf_xet.PyXetDownloadInfo(f"pulled/{n}", one["hash"], one["size"]) for n, one in enumerate(stored)]
hf_xet.download_files(wanted, endpoint, None, None, None)
assert sum(os.path.getsize(f"pulled/{n}") for n in range(len(stored))) == sum(one["size"] for one in stored)
for name in ("pulled", "home"):
    shutil.rmtree(name)
print(len(stored))
