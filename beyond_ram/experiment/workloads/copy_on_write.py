"""Records that a dataset keeps in memory, read by the workers of a DataLoader."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Counts, Experiment, Matrix, Order, Sizes, Start, Values


class CopyOnWriteMatrix(Matrix):
    """The axes of the workload `copy-on-write`."""

    holding: Annotated[Values[Literal["dicts", "strings", "numpy", "arrow", "tensor"]], Axis(alone=True)] = Field(
        ["dicts", "numpy"],
        description="Type of the records: list of dictionaries, list of strings, NumPy arrays, Arrow table, or "
        "tensors in shared memory.",
    )
    records: Annotated[Sizes, Axis(unit="records")] = Field(
        [400_000], description="Number of records; each has a number and a text of 64 characters."
    )
    order: Order = Field(["shuffled"])
    workers: Annotated[Counts, Axis(unit="workers", nothing="no workers")] = Field(
        [4], description="Worker processes of the DataLoader."
    )
    start: Start = Field(["fork"])
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field([2], description="Epochs with the same workers.")


class CopyOnWriteExperiment(Experiment):
    """Records that a dataset keeps in memory and the workers of a DataLoader read: how much each worker copies."""

    PROGRAM = "copy_on_write.py"

    workload: Literal["copy-on-write"]
    matrix: CopyOnWriteMatrix = Field(description="The axes; every combination is a cell.")
