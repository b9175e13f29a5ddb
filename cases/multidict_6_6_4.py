# /// script
# requires-python = ">=3.11"
# dependencies = ["multidict"]
# ///
"""multidict before 6.6.4: what is popped from a `MultiDict` is kept (aio-libs/multidict#1232)."""

from multidict import MultiDict

for _ in range(200):
    first = MultiDict({f"X-Any-{number}": f"{number}" * 10 for number in range(1000)})
    second = MultiDict()
    for name in list(first.keys()):
        second[name] = first.pop(name)
print(len(second))
