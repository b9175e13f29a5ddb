# /// script
# dependencies = ["hf_xet"]
# ///
"""Uploads a file of 100 MB into Xet storage that is a folder, and downloads it again (from 1.3.0)."""

import os
import shutil

os.environ["HF_HOME"] = os.path.abspath("home")
import hashlib
import random

import hf_xet

generator, digest = random.Random(0), hashlib.sha256()
with open("large.bin", "wb") as file:
    for _ in range(100):
        piece = generator.randbytes(1 << 20)
        digest.update(piece)
        file.write(piece)
os.mkdir("storage")
endpoint = "local://" + os.path.abspath("storage")
(uploaded,) = hf_xet.upload_files(["large.bin"], endpoint, None, None, None, "dataset")
wanted = hf_xet.PyXetDownloadInfo("again.bin", uploaded.hash, uploaded.filesize)
hf_xet.download_files([wanted], endpoint, None, None, None)
with open("again.bin", "rb") as file:
    assert hashlib.file_digest(file, "sha256").digest() == digest.digest()
for name in ("storage", "home"):
    shutil.rmtree(name, ignore_errors=True)
os.unlink("large.bin")
os.unlink("again.bin")
print(digest.hexdigest())
