"""A repository, streamed through a DataLoader."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from ..corpora import PositiveInt
from ..job import Job, Served
from ..paths import Cell, Point
from ..places import HubAddress
from .base import Axis, Contrast, Counts, Experiment, Matrix, Names, Places, Sizes, Values

# A fault of the endpoint: its kind, and N if one in N data requests has it.
Fault = Annotated[str, StringConstraints(pattern=r"^(none|(error-500|too-many-429|drop|slow)-every-[1-9][0-9]*)$")]
# Read-ahead of Parquet: Arrow's default, one of its switches, or N ranges of M megabytes.
Buffering = Annotated[str, StringConstraints(pattern=r"^(default|pre-buffer|no-pre-buffer|prefetch-\d+-range-\d+)$")]


class StreamMatrix(Matrix):
    """The axes of the workload `stream`."""

    repository: Annotated[Names, Axis("input", alone=True)] = Field(description="Repositories, by name.")
    mode: Annotated[Values[Literal["stream", "download", "s3"]], Axis(alone=True)] = Field(
        ["stream"],
        description="`stream`: `load_dataset(streaming=True)`; `download`: downloaded into the cache, then read; "
        "`s3`: streamed from S3-compatible storage.",
    )
    workers: Annotated[Counts, Axis(unit="workers", nothing="no workers")] = Field(
        [0], description="Workers of the DataLoader; 0: the main process reads."
    )
    start: Annotated[Values[Literal["fork", "spawn"]], Axis(alone=True, nothing="")] = Field(
        ["fork"], description="How workers are started."
    )
    page_size: Annotated[Sizes, Axis("endpoint", "page", "entries")] = Field(
        [1000], description="Entries per page of a file listing."
    )
    latency_ms: Annotated[Counts, Axis("endpoint", "latency", "ms")] = Field(
        [0], description="Delay before every answer of the endpoint, in milliseconds."
    )
    bandwidth_mb_per_s: Annotated[Counts, Axis("endpoint", "bandwidth", "MB/s", nothing="unlimited bandwidth")] = Field(
        [0], description="Bandwidth of all connections together, in MB per second; 0: no limit."
    )
    redirect: Annotated[Values[Literal["no", "yes"]], Axis("endpoint")] = Field(
        ["no"], description="Whether data requests are redirected to another address, as on the real Hub."
    )
    fault: Annotated[Values[Fault], Axis("endpoint", alone=True, nothing="no faults")] = Field(
        ["none"],
        description="`KIND-every-N`: one in N data requests fails once; `error-500`, `too-many-429`, `drop` or `slow`.",
    )
    buffering: Annotated[Values[Buffering], Axis(), Contrast("default")] = Field(
        ["default"],
        description="Read-ahead of Parquet: `default`, `pre-buffer`, `no-pre-buffer`, or `prefetch-N-range-M` (N "
        "ranges of up to M MiB).",
    )
    shuffle_buffer: Annotated[Counts, Axis(unit="rows", nothing="no shuffle")] = Field(
        [0], description="Rows in the buffer of `shuffle`; 0: no shuffling."
    )
    input_shards: Annotated[Counts, Axis(unit="input shards", label="input shards", nothing="")] = Field(
        [0],
        description="Input shards that fill the buffer of `shuffle` together (`max_buffer_input_shards`); 0: the "
        "release's default.",
    )
    prefetch_factor: Annotated[Sizes, Axis(unit="batches", nothing="")] = Field(
        [2], description="Batches that each worker prepares in advance."
    )
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field([1], description="Number of epochs.")
    xet: Annotated[Values[Literal["no", "yes"]], Axis("endpoint", "Xet")] = Field(
        ["no"],
        description="Whether the endpoint offers files from Xet storage too, as the real Hub does, and the client "
        "may use it.",
    )

    def normalise(self, point: dict[str, Any]) -> Point:
        if not point["workers"]:
            point["prefetch_factor"] = 0
        if not point["shuffle_buffer"] or point["mode"] == "download":
            point["input_shards"] = 0
        if point["mode"] == "s3" and point["buffering"] != "default":
            return ()
        if point["mode"] == "download":
            point["buffering"] = "default"
        if point["mode"] == "s3":  # another server, without such conditions, serves it
            point |= {"page_size": 1000, "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "fault": "none"}
            point["xet"] = "no"
        return super().normalise(point)


class StreamExperiment(Experiment):
    """A repository, streamed through a DataLoader."""

    PROGRAM = "stream.py"

    workload: Literal["stream"]
    timeout_s: PositiveInt | None = Field(
        600, description="Seconds after which a run is stopped and recorded as timed out."
    )
    endpoint: HubAddress | None = Field(
        None,
        description="A Hub of your choice, such as `https://huggingface.co`, reached through a local relay that "
        "counts the requests; default: a local endpoint per run that serves a generated repository.",
    )
    matrix: StreamMatrix = Field(description="The axes; every combination is a cell.")

    def job(self, cell: Cell, places: Places) -> Job:
        job = super().job(cell, places)
        served = Served(
            repository=places.of("repositories", cell["repository"]),
            conditions={axis: value for axis, value in cell.axes if self.axes()[axis].role == "endpoint"},
            storage="s3" if cell["mode"] == "s3" else "hub",
            endpoint=self.endpoint,
        )
        return job.but(served=served)

    @model_validator(mode="after")
    def _keys_and_axes_go_together(self) -> "StreamExperiment":
        if self.find_limit:
            raise ValueError("find_limit: not with a served workload")
        for axis in ("page_size", "redirect", "fault", "xet") if self.endpoint else ():
            if getattr(self.matrix, axis) != StreamMatrix.model_fields[axis].default:
                raise ValueError(
                    f"matrix.{axis}: a condition of the local endpoint, not of the one named in `endpoint`"
                )
        if self.endpoint and "s3" in self.matrix.mode:
            raise ValueError("matrix.mode: s3 has a storage of its own, and `endpoint` is a Hub")
        return self
