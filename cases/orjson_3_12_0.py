# /// script
# requires-python = ">=3.11"
# dependencies = ["orjson"]
# ///
"""orjson 3.12.0: each result of `dumps` keeps a buffer of 4 KiB, however short it is (home-assistant/core#181245)."""

import orjson

texts = [orjson.dumps({"entity": f"light.{number}", "state": "on"}) for number in range(40_000)]
print(len(texts), sum(map(len, texts)))
