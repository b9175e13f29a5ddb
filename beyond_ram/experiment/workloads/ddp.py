"""A token dataset, loaded by the ranks of a distributed training."""

from typing import Annotated, Literal

from pydantic import Field

from ..job import Job
from ..paths import Cell
from .base import Axis, Counts, Experiment, Matrix, Names, Order, Places, Sizes, TokenDatasets


class DdpMatrix(Matrix):
    """The axes of the workload `ddp`."""

    tokens: TokenDatasets
    loader: Annotated[Names, Axis(alone=True)] = Field(description="Loaders: modules of `scripts/workloads/loaders`.")
    order: Order = Field(["sequential"])
    ranks: Annotated[Sizes, Axis(unit="ranks")] = Field(
        [2], description="Processes of torch.distributed on this machine, with gloo."
    )
    workers: Annotated[Counts, Axis(unit="workers", nothing="no workers")] = Field([0], description="Workers per rank.")
    batch_size: Annotated[Sizes, Axis(unit="rows")] = Field([256], description="Rows per batch.")


class DdpExperiment(Experiment):
    """A token dataset, loaded by the ranks of a distributed training."""

    PROGRAM = "ddp.py"

    workload: Literal["ddp"]
    matrix: DdpMatrix = Field(description="The axes; every combination is a cell.")

    def job(self, cell: Cell, places: Places) -> Job:
        return super().job(cell, places).but(reads=places.loader(cell)[0])
