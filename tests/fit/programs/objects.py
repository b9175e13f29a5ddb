"""A DataLoader over Python objects: workers copy what they only read, by reference counts."""

import sys

import torch
from torch.utils.data import DataLoader

options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}
records = [{"id": row, "tokens": list(range(row, row + 48)), "text": f"record {row}"} for row in range(options["rows"])]


def collate(batch):
    return torch.tensor([record["tokens"] for record in batch]).repeat(1, 16)


for _ in DataLoader(
    records,
    options["batch"],
    shuffle=True,
    num_workers=options["workers"],
    collate_fn=collate,
    multiprocessing_context="fork" if options["workers"] else None,
):
    pass
