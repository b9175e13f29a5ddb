"""A cache of limited size: memory grows until it is full."""

import functools
import random
import sys
import time

options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}


@functools.lru_cache(maxsize=options["cache"])
def decoded(row):
    return b"y" * 20_000


chance = random.Random(0)
for _ in range(options["rows"]):
    decoded(chance.randrange(options["rows"]))
time.sleep(0.05)
