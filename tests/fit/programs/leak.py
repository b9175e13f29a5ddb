"""A list that keeps something of each batch."""

import sys

given = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
kept = []
for _ in range(given["rows"] // given["batch"]):
    batch = bytearray(b"x" * 4_000) * given["batch"]
    kept.append(bytes(batch[: 1_000 * given["batch"] // 8]))
