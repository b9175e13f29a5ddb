"""A table that is edited and pushed again to Xet storage."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Experiment, Matrix, Sizes, Values


class DedupMatrix(Matrix):
    """The axes of the workload `dedup`."""

    table_rows: Annotated[Sizes, Axis(label="table", unit="rows")] = Field(
        [100_000], description="Rows of the table, some 400 bytes each."
    )
    compression: Annotated[Values[Literal["none", "snappy", "zstd"]], Axis(alone=True)] = Field(
        ["snappy"], description="Compression of the Parquet files."
    )
    cdc: Annotated[Values[Literal["off", "on"]], Axis(label="chunking by content")] = Field(
        ["off", "on"], description="Whether the content decides where pages end (`use_content_defined_chunking`)."
    )
    row_group_rows: Annotated[Sizes, Axis(label="row groups", unit="rows")] = Field(
        [1_000_000], description="Rows per row group."
    )


class DedupExperiment(Experiment):
    """A table is edited and pushed again: how much Xet storage has to store anew. One run does every edit."""

    PROGRAM = "dedup.py"

    workload: Literal["dedup"]
    matrix: DedupMatrix = Field(description="The axes; every combination is a cell.")
