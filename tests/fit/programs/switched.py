"""A program that keeps small inputs in memory and spools larger ones: its memory is not monotone."""

import sys
import tempfile
import time

options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
block = b"z" * 1_000 * options["batch"]
with tempfile.SpooledTemporaryFile(max_size=50_000_000) as spool:
    for _ in range(options["rows"] // options["batch"]):
        spool.write(block)
    spool.seek(0)
    time.sleep(0.05)
    if options["rows"] * 1_000 <= 50_000_000:
        whole = spool.read()
        time.sleep(0.05)
