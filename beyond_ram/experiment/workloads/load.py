"""A token dataset delivered by a loader."""

from typing import Annotated, Literal

from pydantic import Field

from ..job import Job
from ..paths import Cell
from .base import Axis, Contrast, Counts, Experiment, Matrix, Names, Places, Sizes, Values


class LoadMatrix(Matrix):
    """The axes of the workload `load`."""

    tokens: Annotated[Names, Axis("input", alone=True)] = Field(
        ["none"], description="Token datasets, by name; `none` for loaders of your own."
    )
    loader: Annotated[Names, Axis(alone=True), Contrast("first")] = Field(
        description="Loaders: modules of `scripts/workloads/loaders`, or your own by name."
    )
    order: Annotated[Values[Literal["sequential", "shuffled"]], Axis(alone=True)] = Field(
        ["sequential"], description="Order of the rows."
    )
    workers: Annotated[Counts, Axis(unit="workers", nothing="no workers"), Contrast(along=("start",))] = Field(
        [0], description="Worker processes of the DataLoader."
    )
    start: Annotated[Values[Literal["fork", "forkserver", "spawn"]], Axis(alone=True, nothing="")] = Field(
        ["fork"], description="How workers are started."
    )
    page_cache: Annotated[Values[Literal["cold", "warm"]], Axis("cache")] = Field(
        ["warm"], description="Whether the page cache has nothing (`cold`) or all of the data (`warm`) at the start."
    )
    batch_size: Annotated[Sizes, Axis(unit="rows")] = Field([256], description="Rows per batch.")
    advice: Annotated[Values[Literal["none", "random"]], Axis(label="madvise", nothing=""), Contrast("none")] = Field(
        ["none"], description="`random`: MADV_RANDOM, for loaders that map a file."
    )
    readahead: Annotated[Values[Literal["default", "one-batch", "no-batch"]], Axis(nothing="")] = Field(
        ["default"],
        description="Batches that a scan by `pyarrow.dataset` reads ahead. `default`: as the library does; `no-batch`: "
        "none, and no `pre_buffer`.",
    )
    torch_threads: Annotated[Counts, Axis(label="PyTorch threads", unit="PyTorch threads", nothing=""), Contrast(0)] = (
        Field(
            [0],
            description="PyTorch threads of the training process; 0: PyTorch's default. DataLoader workers have one "
            "each.",
        )
    )
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field(
        [2],
        description="Epochs in one process. Those after the first are repeated until they are long enough for a rate.",
    )
    limit_percent: Annotated[Counts, Axis(label="memory limit", unit="%", nothing="no memory limit")] = Field(
        [0], description="Hard memory limit, in percent of the rows' bytes; 0: no limit."
    )


class LoadExperiment(Experiment):
    """A token dataset, delivered by a loader. Every row is checked."""

    PROGRAM = "load.py"

    workload: Literal["load"]
    matrix: LoadMatrix = Field(description="The axes; every combination is a cell.")

    def job(self, cell: Cell, places: Places) -> Job:
        job, (reads, words) = super().job(cell, places), places.loader(cell)
        return job.but(
            arguments=[*job.arguments, *words],
            reads=(reads,),
            page_cache=cell["page_cache"],
            limit_percent=cell["limit_percent"],
        )
