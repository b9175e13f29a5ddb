# /// script
# requires-python = ">=3.11"
# dependencies = ["multidict"]
# ///
"""multidict 6.3.0: copying a `CIMultiDict` with `add` keeps each key (aio-libs/multidict#1117, #1131; yanked)."""

from multidict import CIMultiDict

for _ in range(60_000):
    headers = CIMultiDict({f"X-Any-{number}": "value" for number in range(10)})
    copy = CIMultiDict()
    for name, value in headers.items():
        copy.add(name, value)
print(len(copy))
