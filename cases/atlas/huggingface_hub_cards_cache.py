# /// script
# dependencies = ["huggingface_hub"]
# ///
"""Parses 2,000 cards of datasets and scans a cache of 500 repositories."""

import os
import shutil

from huggingface_hub import DatasetCard, scan_cache_dir

text = "---\nlicense: mit\nlanguage: [en, fr]\ntags: [a, b, c]\n---\n# Title\n" + "text " * 200
licenses = {DatasetCard(text).data.license for _ in range(1000)}
commit = "0" * 40
for number in range(500):
    repository = f"cache/datasets--user--name{number}"
    os.makedirs(f"{repository}/snapshots/{commit}")
    os.makedirs(f"{repository}/blobs")
    os.makedirs(f"{repository}/refs")
    for file in range(8):
        with open(f"{repository}/blobs/{file:064d}", "w") as blob:
            blob.write("x" * 100)
        os.symlink(f"../../blobs/{file:064d}", f"{repository}/snapshots/{commit}/file{file}")
    with open(f"{repository}/refs/main", "w") as ref:
        ref.write(commit)
scanned = scan_cache_dir("cache")
shutil.rmtree("cache")
assert licenses == {"mit"} and len(scanned.repos) == 500 and scanned.size_on_disk == 500 * 800
print(len(scanned.repos))
