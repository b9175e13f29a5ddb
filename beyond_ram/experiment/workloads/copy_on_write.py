"""Records held in memory by a dataset, read by the workers of a DataLoader."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Counts, Experiment, Matrix, Order, Sizes, Start, Values


class CopyOnWriteMatrix(Matrix):
    """The axes of the workload `copy-on-write`."""

    holding: Annotated[Values[Literal["dicts", "strings", "numpy", "arrow", "tensor"]], Axis(alone=True)] = Field(
        ["dicts", "numpy"],
        description="What holds the records: a list of dictionaries, a list of strings, arrays of NumPy, an Arrow "
        "table, or tensors in shared memory.",
    )
    records: Annotated[Sizes, Axis(unit="records")] = Field(
        [400_000], description="Records, each a number and a text of 64 characters."
    )
    order: Order = Field(["shuffled"])
    workers: Annotated[Counts, Axis(unit="workers", nothing="no workers")] = Field(
        [4], description="Worker processes of the DataLoader."
    )
    start: Start = Field(["fork"])
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field([2], description="Epochs, by the same workers.")


class CopyOnWriteExperiment(Experiment):
    """Records held in memory by a dataset, read by the workers of a DataLoader: what each copies of them."""

    PROGRAM = "copy_on_write.py"

    workload: Literal["copy-on-write"]
    matrix: CopyOnWriteMatrix = Field(description="The axes; every combination is a cell.")
