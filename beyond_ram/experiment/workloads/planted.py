"""Programs with a planted owner of their memory."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Experiment, Matrix, Sizes, Values


class PlantedMatrix(Matrix):
    """The axes of the workload `planted`."""

    case: Annotated[
        Values[
            Literal[
                "flat",
                "list",
                "cache",
                "garbage",
                "hidden",
                "c-leak",
                "c-once",
                "fragmentation",
                "arrow-pool",
                "mapped-file",
            ]
        ],
        Axis(alone=True),
    ] = Field(description="The cause.")
    size_mb: Annotated[Sizes, Axis(label="size", unit="MB")] = Field([64], description="Megabytes per epoch.")
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field([1], description="Number of epochs.")


class PlantedExperiment(Experiment):
    """Programs whose memory growth has a known cause: tests of the verdicts."""

    PROGRAM = "planted.py"

    workload: Literal["planted"]
    matrix: PlantedMatrix = Field(description="The axes; every combination is a cell.")
