"""Parquet, one file, row groups of 16,000 rows, Zstandard."""

from formats import parquet


def write(rows, folder):
    parquet.write(rows, folder, group_rows=16_000, compression="zstd")
