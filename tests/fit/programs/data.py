"""Make the data that the programs read, all of it once: python data.py FOLDER. Needs the stack `loaders`."""

import random
import sys
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from datasets import Features, Value
from datasets.arrow_writer import ArrowWriter

folder = Path(sys.argv[1])
ROWS, WIDTH, STEP = 160_000, 256, 10_000
folder.mkdir(parents=True, exist_ok=True)
chance = random.Random(0)
words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 10))) for _ in range(5_000)]
table = np.lib.format.open_memmap(folder / "rows.npy", mode="w+", dtype=np.float32, shape=(ROWS, WIDTH))
writer = ArrowWriter(features=Features({"text": Value("string")}), path=str(folder / "text.arrow"))
with h5py.File(folder / "rows.h5", "w") as file, (folder / "rows.csv").open("w") as csv, writer:
    rows = file.create_dataset("rows", (ROWS, WIDTH), "float32", chunks=(1_000, WIDTH), compression="lzf")
    csv.write("group,word,a,b,c,d\n")
    for start in range(0, ROWS, STEP):
        block = np.random.default_rng(start).integers(0, 1_000, (STEP, WIDTH)).astype(np.float32)
        table[start : start + STEP] = block
        rows[start : start + STEP] = block
        texts = [" ".join(chance.choices(words, k=80)) for _ in range(STEP)]
        writer.write_table(pa.table({"text": texts}))
        for line, text in zip(block, texts, strict=True):
            csv.write(f"{int(line[0])},{text[:12]},{line[1]},{line[2]},{line[3]},{line[4]}\n")
    writer.finalize()
