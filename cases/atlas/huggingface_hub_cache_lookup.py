# /// script
# dependencies = ["huggingface_hub"]
# ///
"""Looks up 40,000 files in a cache of 100 repositories, as loading without a network does."""

import os
import shutil

from huggingface_hub import try_to_load_from_cache

commit = "0" * 40
for number in range(100):
    repository = f"cache/models--user--name{number}"
    os.makedirs(f"{repository}/snapshots/{commit}")
    os.makedirs(f"{repository}/refs")
    with open(f"{repository}/refs/main", "w") as ref:
        ref.write(commit)
    for file in range(8):
        with open(f"{repository}/snapshots/{commit}/file{file}.json", "w") as text:
            text.write("{}")
existing = missing = 0
for number in range(40_000):
    name = f"file{number % 10}.json"
    path = try_to_load_from_cache(f"user/name{number % 100}", name, cache_dir="cache", repo_type="model")
    existing, missing = existing + isinstance(path, str), missing + (path is None)
shutil.rmtree("cache")
assert (existing, missing) == (32_000, 8_000)
print(existing, missing)
