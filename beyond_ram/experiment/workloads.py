"""What can be weighed: a matrix and an experiment class per workload.

A new workload is a program in scripts/workloads/ and two classes here, named in `AnyExperiment`.
"""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints, model_validator

from .corpora import Strict
from .paths import NAME, Cell, pattern

Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]
# A stack of a config, or one that a ladder of versions varies: BASE+PACKAGE-VERSION. A stack kept from before an
# upgrade has an `@` in its name, and is no rule's to make again.
_STACK = r"[a-z0-9][a-z0-9._+-]*"


class Matrix(Strict):
    """Axes in the order of the path grammar; every combination is a cell."""

    def cells(self, experiment: str, repeats: int) -> list[Cell]:
        """All cells, each once, in the order of the axes."""
        combinations = itertools.product(*(getattr(self, axis) for axis in type(self).model_fields))
        points = dict.fromkeys(self.normalise(dict(zip(type(self).model_fields, c, strict=True))) for c in combinations)
        return [Cell(experiment, point, rep) for point in points if point for rep in range(1, repeats + 1)]

    def normalise(self, point: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        """One combination as axes and values; empty where the combination means nothing."""
        return tuple((axis, str(value)) for axis, value in point.items())


Axis = Annotated[list[PositiveInt], Field(min_length=1)]
Names = Annotated[list[Name], Field(min_length=1)]


class TokenizeMatrix(Matrix):
    """The axes of the workload `tokenize`."""

    stack: Names = Field(description="Stacks, by name.")
    corpus: Names = Field(description="Corpora, by name.")
    mode: Annotated[list[Literal["basic", "shard", "flat"]], Field(min_length=1)] = Field(
        ["basic"],
        description="`basic`: one map; `shard`: N shards mapped in turn, then concatenated; `flat`: documents in "
        "pieces, without `datasets`.",
    )
    shards: Axis = Field([1], description="Shards, in mode `shard`.")
    num_files: Axis = Field(description="The first so many files of the corpus.")
    batch_size: Axis = Field([1000], description="Rows handed to the tokenizer at once.")
    writer_batch_size: Axis = Field([1000], description="Rows kept before they are written.")
    num_proc: Annotated[list[NonNegativeInt], Field(min_length=1)] = Field(
        [0], description="Worker processes of map; 0 leaves the argument out."
    )
    cache: Annotated[list[Literal["cold", "interrupted", "rerun", "warm"]], Field(min_length=1)] = Field(
        ["cold"], description="Cache states."
    )
    stop_after: Axis = Field([1], description="Shards after which an interrupted run is killed.")
    remedy: Names = Field(["none"], description="Remedies, by name ([docs/explain.md](explain.md)).")

    STOPPED: ClassVar = ("interrupted", "rerun")

    @model_validator(mode="after")
    def _interruption_needs_shards(self) -> "TokenizeMatrix":
        if set(self.STOPPED) & set(self.cache):
            if "shard" not in self.mode:
                raise ValueError("cache `interrupted` and `rerun` need mode `shard`: they stop between two shards")
            if max(self.stop_after) >= min(self.shards):
                raise ValueError(
                    f"stop_after {max(self.stop_after)} must be below shards {min(self.shards)}: something must be left"
                )
        return self

    def normalise(self, point: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        stopped = point["cache"] in self.STOPPED
        if point["mode"] != "shard":
            if stopped:
                return ()
            point["shards"] = 1
        if point["mode"] == "flat":  # it takes a document at a time, whatever the batch sizes
            if point["cache"] == "warm" or point["remedy"] != "none":
                return ()
            point |= {"batch_size": 1, "writer_batch_size": 1, "num_proc": 0}
        if not stopped:
            point["stop_after"] = 0
        return super().normalise(point)


class PlantedMatrix(Matrix):
    """The axes of the workload `planted`."""

    stack: Names = Field(description="Stacks, by name.")
    case: Annotated[
        list[
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
        Field(min_length=1),
    ] = Field(description="What is planted.")
    size_mb: Axis = Field([64], description="How much of it in each epoch, in megabytes.")
    epochs: Axis = Field([1], description="How often.")


class SoakMatrix(Matrix):
    """The axes of the workload `soak`."""

    stack: Names = Field(description="Stacks, by name.")
    corpus: Names = Field(description="Corpora, by name.")
    num_files: Axis = Field(description="The first so many files of the corpus.")
    subject: Annotated[
        list[Literal["tokenizers", "tokenizers-fast", "transformers", "dataset"]], Field(min_length=1)
    ] = Field(
        description="What does the work: `tokenizers` alone, the same without offsets (`encode_batch_fast`), a "
        "tokenizer of `transformers`, or a dataset that is read."
    )
    between: Annotated[
        list[Literal["nothing", "reload", "clear-cache", "no-cache", "deepcopy", "pickle", "workers", "reopen"]],
        Field(min_length=1),
    ] = Field(["nothing"], description="What is done after every epoch.")
    epochs: Axis = Field([5], description="How often the same work is done in one process.")


class ScanMatrix(Matrix):
    """The axes of the workload `scan`."""

    stack: Names = Field(description="Stacks, by name.")
    size_mb: Axis = Field([300], description="Size of the mapped file, in megabytes.")


class WriteMatrix(Matrix):
    """The axes of the workload `write`."""

    stack: Names = Field(description="Stacks, by name.")
    tokens: Names = Field(description="Token datasets, by name.")
    format: Names = Field(description="Formats: modules of `scripts/workloads/formats`.")


class LoadMatrix(Matrix):
    """The axes of the workload `load`."""

    stack: Names = Field(description="Stacks, by name.")
    tokens: Names = Field(["none"], description="Token datasets, by name; `none` for loaders of your own.")
    loader: Names = Field(description="Loaders: modules of `scripts/workloads/loaders`, or your own by name.")
    order: Annotated[list[Literal["sequential", "shuffled"]], Field(min_length=1)] = Field(
        ["sequential"], description="Order of the rows."
    )
    workers: Annotated[list[NonNegativeInt], Field(min_length=1)] = Field(
        [0], description="Worker processes of the DataLoader."
    )
    start: Annotated[list[Literal["fork", "forkserver", "spawn"]], Field(min_length=1)] = Field(
        ["fork"], description="How workers are started."
    )
    page_cache: Annotated[list[Literal["cold", "warm"]], Field(min_length=1)] = Field(
        ["warm"], description="Whether the page cache holds nothing or all of the data at the start."
    )
    batch_size: Axis = Field([256], description="Rows of a batch.")
    pin_memory: Annotated[list[Literal["no", "yes"]], Field(min_length=1)] = Field(
        ["no"], description="`pin_memory` of the DataLoader."
    )
    advice: Annotated[list[Literal["none", "random"]], Field(min_length=1)] = Field(
        ["none"], description="`random`: MADV_RANDOM, for loaders that map a file."
    )
    epochs: Axis = Field([2], description="Epochs in one process; rates are the last one's.")
    limit_percent: Annotated[list[NonNegativeInt], Field(min_length=1)] = Field(
        [0], description="Hard memory limit, in percent of the rows' bytes; 0: none."
    )

    def normalise(self, point: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        if not point["workers"]:
            point["start"] = "none"
        return super().normalise(point)


class RanksMatrix(Matrix):
    """The axes of the workload `ranks`."""

    stack: Names = Field(description="Stacks, by name.")
    tokens: Names = Field(description="Token datasets, by name.")
    loader: Names = Field(description="Loaders: modules of `scripts/workloads/loaders`.")
    order: Annotated[list[Literal["sequential", "shuffled"]], Field(min_length=1)] = Field(
        ["sequential"], description="Order of the rows."
    )
    ranks: Axis = Field([2], description="Processes of torch.distributed, by gloo, on this machine.")
    workers: Annotated[list[NonNegativeInt], Field(min_length=1)] = Field([0], description="Workers of each rank.")
    batch_size: Axis = Field([256], description="Rows of a batch.")


class DedupMatrix(Matrix):
    """The axes of the workload `dedup`."""

    stack: Names = Field(description="Stacks, by name.")
    table_rows: Axis = Field([100_000], description="Rows of the table; a row is some 400 bytes.")
    compression: Annotated[list[Literal["none", "snappy", "zstd"]], Field(min_length=1)] = Field(
        ["snappy"], description="Compression of the Parquet files."
    )
    cdc: Annotated[list[Literal["off", "on"]], Field(min_length=1)] = Field(
        ["off", "on"], description="Whether pages are cut where the content says (`use_content_defined_chunking`)."
    )
    row_group_rows: Axis = Field([1_000_000], description="Rows of a row group.")


# A fault of the endpoint: its kind, and that every so many data requests have it.
Fault = Annotated[str, StringConstraints(pattern=r"^(none|(error-500|too-many-429|drop|slow)-every-[1-9][0-9]*)$")]
# What Parquet reads ahead: Arrow's own default, one of its switches, or so many ranges of so many megabytes.
Buffering = Annotated[str, StringConstraints(pattern=r"^(default|pre-buffer|no-pre-buffer|prefetch-\d+-range-\d+)$")]
Count = Annotated[list[NonNegativeInt], Field(min_length=1)]


class StreamMatrix(Matrix):
    """The axes of the workload `stream`."""

    stack: Names = Field(description="Stacks, by name.")
    repository: Names = Field(description="Repositories, by name.")
    mode: Annotated[list[Literal["stream", "download", "s3", "custom", "resume"]], Field(min_length=1)] = Field(
        ["stream"],
        description="`stream`: `load_dataset(streaming=True)`; `download`: into the cache, then read from disk; `s3`: "
        "streamed from S3-compatible storage; `custom`: the experiment's `module`; `resume`: killed half way, and "
        "resumed from its `state_dict`.",
    )
    workers: Count = Field([0], description="Workers of the DataLoader; 0 reads in the main process.")
    start: Annotated[list[Literal["fork", "spawn"]], Field(min_length=1)] = Field(
        ["fork"], description="How workers are started."
    )
    page_size: Axis = Field([1000], description="Entries in a page of a listing, as the endpoint serves them.")
    latency_ms: Count = Field([0], description="Time that the endpoint waits before every answer, in milliseconds.")
    bandwidth_mb_per_s: Count = Field(
        [0], description="What all connections share, in megabytes a second; 0 sets no bound."
    )
    redirect: Annotated[list[Literal["no", "yes"]], Field(min_length=1)] = Field(
        ["no"], description="Whether data is redirected to another address, as on the real Hub."
    )
    fault: Annotated[list[Fault], Field(min_length=1)] = Field(
        ["none"],
        description="`KIND-every-N`: every so many data requests fail once; `error-500`, `too-many-429`, `drop` or "
        "`slow`.",
    )
    buffering: Annotated[list[Buffering], Field(min_length=1)] = Field(
        ["default"],
        description="Parquet's reading ahead: `default`, `pre-buffer`, `no-pre-buffer`, or `prefetch-N-range-M`: N "
        "ranges of up to M MiB.",
    )
    shuffle_buffer: Count = Field([0], description="Rows in the buffer of `shuffle`; 0 does not shuffle.")
    prefetch_factor: Axis = Field([2], description="Batches that each worker has ready.")
    epochs: Axis = Field([1], description="How often everything is read.")

    def normalise(self, point: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        if not point["workers"]:
            point |= {"start": "none", "prefetch_factor": 0}
        if point["mode"] == "resume" and (point["workers"] or point["epochs"] > 1):
            return ()  # the state of several workers is not the dataset's to keep
        if point["mode"] in ("s3", "custom") and point["buffering"] != "default":
            return ()
        if point["mode"] == "download":
            point["buffering"] = "default"
        if point["mode"] == "s3":  # served by another server, which has no such conditions
            point |= {"page_size": 1000, "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "fault": "none"}
        return super().normalise(point)


class SparkMatrix(Matrix):
    """The axes of the workload `spark`."""

    stack: Names = Field(description="Stacks, by name.")
    repository: Names = Field(description="Repositories, by name; with source `parquet`.")


class HubFilesMatrix(Matrix):
    """The axes of the workload `hub-files`."""

    stack: Names = Field(description="Stacks, by name.")
    repository: Names = Field(description="Repositories, by name; with source `webdataset` or `video`.")
    opener: Annotated[list[Literal["filesystem", "curl"]], Field(min_length=1)] = Field(
        ["filesystem"],
        description="`filesystem`: `HfFileSystem`; `curl`: what WebDataset itself starts for `hf://`.",
    )
    block_kb: Count = Field(
        [5120],
        description="What `HfFileSystem` reads at once, in KiB; its own default is 5120. 0: a file in one request, "
        "from the start to the end.",
    )
    samples: Axis = Field([100], description="Samples read: the first ones of the tars, or random frames of a video.")
    latency_ms: Count = Field([0], description="Time that the endpoint waits before every answer, in milliseconds.")
    bandwidth_mb_per_s: Count = Field(
        [0], description="What all connections share, in megabytes a second; 0 sets no bound."
    )
    redirect: Annotated[list[Literal["no", "yes"]], Field(min_length=1)] = Field(
        ["no"], description="Whether data is redirected to another address, as on the real Hub."
    )

    def normalise(self, point: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        if point["opener"] == "curl":
            point["block_kb"] = 0
        return super().normalise(point)


class Experiment(Strict):
    """What experiments of every workload have."""

    PROGRAM: ClassVar[str]
    CHECKED: ClassVar[bool] = False
    PREPARED: ClassVar[bool] = False
    SERVED: ClassVar[bool] = False
    SOURCES: ClassVar[tuple[str, ...]] = ()
    """Of the repositories that the program can read."""
    PUSHES: ClassVar[bool] = False
    """Whether the program writes to what it is served, which is a copy then."""

    repeats: PositiveInt = Field(1, description="Runs of every cell.")
    interval_ms: Annotated[int, Field(ge=1, le=60_000)] = Field(
        5,
        description="Sampling interval, in milliseconds, a fifth of it while a peak is being made. At 5, on a busy "
        "machine, the sampled peak was at most 2.3 % below the kernel's own high-water mark, 0.4 % in the median (n = "
        "77), for 2 to 5 % of a core; the mark itself stands beside it.",
    )
    memory_mb: PositiveInt = Field(
        4000, description="Memory to ask a scheduler for until a run has measured it, in megabytes."
    )
    timeout_s: PositiveInt | None = Field(
        None, description="Seconds after which a run is ended and recorded as timed out; default: never."
    )
    find_limit: bool = Field(
        False, description="Look for the smallest memory limit under which each cell completes, to 5 %."
    )

    def cells(self, name: str) -> list[Cell]:
        """Every cell of the matrix, and every repeat of it."""
        matrix: Matrix = self.matrix  # type: ignore[attr-defined]
        return matrix.cells(name, self.repeats)


class TokenizeExperiment(Experiment):
    """Tokenisation of a corpus with `Dataset.map`."""

    PROGRAM = "tokenize_corpus.py"
    CHECKED = True

    workload: Literal["tokenize"]
    matrix: TokenizeMatrix = Field(description="The axes; every combination is a cell.")


class PlantedExperiment(Experiment):
    """Programs with a planted owner of their memory: what the verdicts are tested on."""

    PROGRAM = "planted.py"

    workload: Literal["planted"]
    matrix: PlantedMatrix = Field(description="The axes; every combination is a cell.")


class SoakExperiment(Experiment):
    """The same work again and again in one process: a warm-up levels off, a leak does not."""

    PROGRAM = "soak.py"

    workload: Literal["soak"]
    matrix: SoakMatrix = Field(description="The axes; every combination is a cell.")


class ScanExperiment(Experiment):
    """A mapped Arrow file, read from one end to the other."""

    PROGRAM = "scan.py"
    PREPARED = True

    workload: Literal["scan"]
    matrix: ScanMatrix = Field(description="The axes; every combination is a cell.")


class WriteExperiment(Experiment):
    """A token dataset written in another format."""

    PROGRAM = "write.py"

    workload: Literal["write"]
    matrix: WriteMatrix = Field(description="The axes; every combination is a cell.")


class LoadExperiment(Experiment):
    """A token dataset delivered by a loader, every row accounted for."""

    PROGRAM = "load.py"

    workload: Literal["load"]
    matrix: LoadMatrix = Field(description="The axes; every combination is a cell.")


class RanksExperiment(Experiment):
    """A token dataset delivered to the ranks of a distributed training."""

    PROGRAM = "ranks.py"

    workload: Literal["ranks"]
    matrix: RanksMatrix = Field(description="The axes; every combination is a cell.")


class DedupExperiment(Experiment):
    """A table that is edited and pushed again: how much of it is new to Xet storage. One run does every edit."""

    PROGRAM = "dedup.py"

    workload: Literal["dedup"]
    matrix: DedupMatrix = Field(description="The axes; every combination is a cell.")


class ServedExperiment(Experiment):
    """What experiments have whose repository is served by an endpoint, started and stopped with each run."""

    SERVED = True

    timeout_s: PositiveInt | None = Field(
        600, description="Seconds after which a run is ended and recorded as timed out."
    )

    @model_validator(mode="after")
    def _no_limit(self) -> "ServedExperiment":
        if self.find_limit:
            raise ValueError("find_limit: not with a served workload")
        return self


class StreamExperiment(ServedExperiment):
    """A repository, streamed through a DataLoader."""

    PROGRAM = "stream.py"
    SOURCES = ("parquet", "hub")

    workload: Literal["stream"]
    module: str | None = Field(
        None,
        description="Mode `custom`: a Python file with `stream(repository, config, split)`, which yields rows or "
        "returns an iterable that a DataLoader takes.",
    )
    endpoint: str | None = Field(
        None,
        description="A Hub of your own choice, such as `https://huggingface.co`, asked through a local address that "
        "counts the requests and hands them on; default: a local endpoint per run, over a generated repository.",
    )
    matrix: StreamMatrix = Field(description="The axes; every combination is a cell.")

    @model_validator(mode="after")
    def _another_hub_has_its_own_conditions(self) -> "StreamExperiment":
        for axis in ("page_size", "redirect", "fault") if self.endpoint else ():
            if getattr(self.matrix, axis) != StreamMatrix.model_fields[axis].default:
                raise ValueError(
                    f"matrix.{axis}: a condition of the local endpoint, not of the one named in `endpoint`"
                )
        if self.endpoint and "s3" in self.matrix.mode:
            raise ValueError("matrix.mode: s3 has a storage of its own, and `endpoint` is a Hub")
        return self

    @model_validator(mode="after")
    def _custom_needs_a_module(self) -> "StreamExperiment":
        if ("custom" in self.matrix.mode) != (self.module is not None):
            raise ValueError("mode `custom` and the key `module` go together")
        return self


class HubFilesExperiment(ServedExperiment):
    """Tars and video frames, read through `HfFileSystem` by libraries that know no Hub."""

    PROGRAM = "hub_files.py"
    SOURCES = ("webdataset", "video")

    workload: Literal["hub-files"]
    matrix: HubFilesMatrix = Field(description="The axes; every combination is a cell.")


class SparkExperiment(ServedExperiment):
    """A repository, read into Spark and written back: which step works."""

    PROGRAM = "spark_source.py"
    SOURCES = ("parquet",)
    PUSHES = True

    workload: Literal["spark"]
    matrix: SparkMatrix = Field(description="The axes; every combination is a cell.")


AnyExperiment = Annotated[
    TokenizeExperiment
    | PlantedExperiment
    | SoakExperiment
    | ScanExperiment
    | WriteExperiment
    | LoadExperiment
    | RanksExperiment
    | StreamExperiment
    | DedupExperiment
    | HubFilesExperiment
    | SparkExperiment,
    Field(discriminator="workload"),
]


def run_pattern(experiments: Mapping[str, Experiment]) -> str:
    """A regular expression for the folders of all runs that one command makes: all but interrupted ones and reruns."""
    alternatives = [_pattern(name, experiment, {"cache": "cold|warm"}) for name, experiment in experiments.items()]
    return f"(?:{'|'.join(alternatives) or '-'})"


def interrupted_pattern(experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Wildcard constraints of an interrupted run and its rerun, before and after the level of the cache state."""
    named = {name: e for name, e in experiments.items() if "cache" in _axes(e)}
    whole = "|".join(_pattern(name, experiment, {"cache": "CACHE"}) for name, experiment in named.items())
    heads, tails = zip(*(one.split("cache~(?:CACHE)") for one in whole.split("|")), strict=True) if whole else ((), ())
    return {
        "head": f"(?:{'|'.join(dict.fromkeys(head.rstrip('/') for head in heads)) or '-'})",
        "tail": f"(?:{'|'.join(dict.fromkeys(tail.lstrip('/') for tail in tails)) or '-'})",
    }


def _axes(experiment: Experiment) -> list[str]:
    return list(type(experiment.matrix).model_fields)  # type: ignore[attr-defined]


def _pattern(name: str, experiment: Experiment, fixed: Mapping[str, str]) -> str:
    levels = [
        f"{axis}~(?:{fixed[axis]})" if axis in fixed else f"stack~{_STACK}" if axis == "stack" else pattern([axis])
        for axis in _axes(experiment)
    ]
    return "/".join([name, *levels, pattern(["rep"])])
