"""A mapped Arrow file, read from beginning to end."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Experiment, Matrix, Sizes


class ScanMatrix(Matrix):
    """The axes of the workload `scan`."""

    size_mb: Annotated[Sizes, Axis(label="size", unit="MB")] = Field(
        [300], description="Size of the mapped file, in megabytes."
    )


class ScanExperiment(Experiment):
    """A mapped Arrow file, read from beginning to end."""

    PROGRAM = "scan.py"
    PREPARED = True

    workload: Literal["scan"]
    matrix: ScanMatrix = Field(description="The axes; every combination is a cell.")
