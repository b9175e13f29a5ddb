"""pandas: a CSV read, sorted and grouped."""

import sys

import pandas as pd

folder = sys.argv[1]
options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
columns = ["group", "word", "a", "b", "c", "d"][: options["columns"]]
frame = pd.read_csv(f"{folder}/rows.csv", nrows=options["rows"], usecols=columns)
frame = pd.concat([frame] * 10, ignore_index=True)
frame.sort_values(["group", columns[-1]]).groupby("group").agg(["min", "max"])
