"""A list that keeps something of each batch."""

import sys

options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
kept = []
for _ in range(options["rows"] // options["batch"]):
    batch = bytearray(b"x" * 4_000) * options["batch"]
    kept.append(bytes(batch[: 1_000 * options["batch"] // 8]))
