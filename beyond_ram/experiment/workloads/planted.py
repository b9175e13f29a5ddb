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
    ] = Field(description="What is planted.")
    size_mb: Annotated[Sizes, Axis(label="size", unit="MB")] = Field(
        [64], description="How much of it in each epoch, in megabytes."
    )
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field([1], description="How often.")


class PlantedExperiment(Experiment):
    """Programs with a planted owner of their memory: what the verdicts are tested on."""

    PROGRAM = "planted.py"

    workload: Literal["planted"]
    matrix: PlantedMatrix = Field(description="The axes; every combination is a cell.")
