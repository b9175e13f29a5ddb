# /// script
# dependencies = ["hf_xet"]
# ///
"""Uploads 400 files of 100 kB into Xet storage that is a folder, and downloads them again (from 1.3.0)."""

import os
import shutil

os.environ["HF_HOME"] = os.path.abspath("home")
import random

import hf_xet

generator = random.Random(0)
os.mkdir("files")
contents = [generator.randbytes(100_000) for _ in range(400)]
for number, content in enumerate(contents):
    with open(f"files/{number}", "wb") as file:
        file.write(content)
os.mkdir("storage")
endpoint = "local://" + os.path.abspath("storage")
uploaded = hf_xet.upload_files([f"files/{n}" for n in range(400)], endpoint, None, None, None, "dataset")
wanted = [hf_xet.PyXetDownloadInfo(f"again/{n}", one.hash, one.filesize) for n, one in enumerate(uploaded)]
hf_xet.download_files(wanted, endpoint, None, None, None)
for number, content in enumerate(contents):
    with open(f"again/{number}", "rb") as file:
        assert file.read() == content
for name in ("storage", "home", "files", "again"):
    shutil.rmtree(name, ignore_errors=True)
print(len(contents))
