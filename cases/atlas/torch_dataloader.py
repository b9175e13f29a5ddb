# /// script
# dependencies = ["torch", "numpy"]
# ///
"""Loads 20,000 samples in batches with two worker processes."""

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 20_000

    def __getitem__(self, number):
        return torch.full((256,), number, dtype=torch.float32)


if __name__ == "__main__":
    total = sum(float(batch[:, 0].sum()) for batch in DataLoader(Rows(), batch_size=100, num_workers=2))
    assert total == sum(range(20_000))
    print(total)
