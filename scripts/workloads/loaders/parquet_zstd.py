"""Parquet by row groups, large and compressed ones."""

from loaders import parquet_blocks

FORMAT, KIND, SHUFFLE = "parquet_zstd", "ours", "blocks"
make = parquet_blocks.make
