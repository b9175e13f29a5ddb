"""Tars and video frames, read through `HfFileSystem`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from ..paths import Point
from .base import (
    Axis,
    BandwidthMbPerS,
    Compared,
    Counts,
    LatencyMs,
    Matrix,
    Redirect,
    Repositories,
    ServedExperiment,
    Sizes,
    Values,
)


class HubFilesMatrix(Matrix):
    """The axes of the workload `hub-files`."""

    repository: Repositories = Field(description="Repositories, by name; with source `webdataset` or `video`.")
    opener: Annotated[Values[Literal["filesystem", "curl"]], Axis(alone=True)] = Field(
        ["filesystem"],
        description="`filesystem`: `HfFileSystem`; `curl`: the command that WebDataset runs for `hf://`.",
    )
    block_kb: Annotated[
        Counts, Axis(label="blocks", unit="KiB", nothing="one request a file"), Compared("hub_files", 5120)
    ] = Field(
        [5120],
        description="Block size of `HfFileSystem` in KiB; its own default is 5120. 0: a whole file in one request.",
    )
    samples: Annotated[Sizes, Axis(unit="samples")] = Field(
        [100], description="Number of samples: the first ones of the tar files, or random frames of a video."
    )
    latency_ms: LatencyMs = Field([0])
    bandwidth_mb_per_s: BandwidthMbPerS = Field([0])
    redirect: Redirect = Field(["no"])

    def normalise(self, point: dict[str, Any]) -> Point:
        if point["opener"] == "curl":
            point["block_kb"] = 0
        return super().normalise(point)


class HubFilesExperiment(ServedExperiment):
    """Tar files and video frames, read through `HfFileSystem` by libraries without Hub support."""

    PROGRAM = "hub_files.py"
    SOURCES = ("webdataset", "video")

    workload: Literal["hub-files"]
    matrix: HubFilesMatrix = Field(description="The axes; every combination is a cell.")
