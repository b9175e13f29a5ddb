# /// script
# dependencies = ["polars"]
# ///
"""Makes a frame of 200,000 Python dictionaries with lists, explodes it, and turns it back into dictionaries."""

import polars as pl

rows = [{"id": n, "name": f"name {n % 500}", "tokens": [n, n + 1, n + 2]} for n in range(200_000)]
frame = pl.DataFrame(rows).explode("tokens").group_by("id", maintain_order=True).agg("tokens", pl.col("name").first())
back = frame.to_dicts()
assert len(back) == 200_000 and all(row["tokens"] == [n, n + 1, n + 2] for n, row in enumerate(back))
print(back[-1]["id"], back[-1]["name"])
