"""A token dataset, written in another format."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Experiment, Matrix, Names, TokenDatasets


class WriteMatrix(Matrix):
    """The axes of the workload `write`."""

    tokens: TokenDatasets
    format: Annotated[Names, Axis(alone=True)] = Field(description="Formats: modules of `scripts/workloads/formats`.")


class WriteExperiment(Experiment):
    """A token dataset, written in another format."""

    PROGRAM = "write.py"

    workload: Literal["write"]
    matrix: WriteMatrix = Field(description="The axes; every combination is a cell.")
