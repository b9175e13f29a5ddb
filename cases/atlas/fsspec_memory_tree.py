# /// script
# dependencies = ["fsspec"]
# ///
"""Lists, globs and walks 20,000 files of an in-memory file system."""

import fsspec

files = fsspec.filesystem("memory")
for number in range(20_000):
    files.pipe_file(f"/data/part{number % 200:03d}/shard{number:05d}.bin", b"x")
assert len(files.find("/data")) == 20_000
assert len(files.glob("/data/*/shard*7.bin")) == 2000
assert sum(len(names) for _, _, names in files.walk("/data")) == 20_000
print(len(files.ls("/data")))
