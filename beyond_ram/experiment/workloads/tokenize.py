"""Tokenisation of a corpus with `Dataset.map`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from ..job import Job
from ..paths import Cell, Point
from .base import Axis, Contrast, Corpora, Counts, Experiment, Matrix, Names, Places, Sizes, Values


class TokenizeMatrix(Matrix):
    """The axes of the workload `tokenize`."""

    corpus: Corpora
    mode: Annotated[Values[Literal["basic", "shard", "engine"]], Axis(alone=True)] = Field(
        ["basic"],
        description="`basic`: one map; `shard`: N shards, mapped one after the other, then concatenated; "
        "`engine`: `beyond-ram tokenize` ([tokenize.md](tokenize.md)) with the stack's encoder.",
    )
    shards: Annotated[Sizes, Axis(unit="shards")] = Field([1], description="Number of shards in mode `shard`.")
    num_files: Annotated[Sizes, Axis(label="files", unit="files")] = Field(
        description="Number of files, from the beginning of the corpus."
    )
    reader: Annotated[
        Values[Literal["from_generator", "load_dataset"]],
        Axis(alone=True),
        Contrast("from_generator"),
    ] = Field(
        ["from_generator"],
        description="How the text is read: rows from a generator, or `load_dataset` of the JSON Lines.",
    )
    batch_size: Annotated[Sizes, Axis(unit="rows"), Contrast()] = Field(
        [1000], description="Rows per call of the tokenizer."
    )
    writer_batch_size: Annotated[Sizes, Axis(unit="rows"), Contrast()] = Field(
        [1000], description="Rows buffered before a write."
    )
    num_proc: Annotated[Counts, Axis(label="processes", unit="processes", nothing="num_proc not set"), Contrast(0)] = (
        Field(
            [0],
            description="Worker processes; 0: the default, which is one process for map and all cores for the others.",
        )
    )
    cache: Annotated[Values[Literal["cold", "interrupted", "rerun", "warm"]], Axis("cache", alone=True)] = Field(
        ["cold"], description="States of the cache."
    )
    stop_after: Annotated[Sizes, Axis("cache", unit="shards", nothing="")] = Field(
        [1], description="Shards after which an interrupted run is killed."
    )
    limit_mb: Annotated[Counts, Axis("cache", "memory limit", "MB", nothing="")] = Field(
        [0],
        description="Hard memory limit in MB; 0: none. The same command is started again until it completes, "
        "from the shards in the cache that the runs before it finished.",
    )
    remedy: Annotated[Names, Axis(alone=True, nothing="no remedy"), Contrast("none")] = Field(
        ["none"], description="Remedies, by name ([docs/explain.md](explain.md))."
    )

    STOPPED: ClassVar = ("interrupted", "rerun")

    @model_validator(mode="after")
    def _limits_alone(self) -> "TokenizeMatrix":
        if any(self.limit_mb) and not all(self.limit_mb):
            raise ValueError("limit_mb: runs with a limit and without one are two experiments; take the 0 out")
        return self

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

    def normalise(self, point: dict[str, Any]) -> Point:
        stopped, mode = point["cache"] in self.STOPPED, point["mode"]
        if point["limit_mb"] and point["cache"] != "cold":
            return ()
        if mode != "shard":
            if stopped:
                return ()
            point["shards"] = 1
        if mode == "engine":  # it has its own reader and writer
            if point["cache"] == "warm" or point["remedy"] != "none" or point["reader"] != "from_generator":
                return ()
            point |= {"batch_size": 1, "writer_batch_size": 1}
        if not stopped:
            point["stop_after"] = 0
        return super().normalise(point)


class TokenizeExperiment(Experiment):
    """Tokenisation of a corpus with `Dataset.map`."""

    PROGRAM = "tokenize_corpus.py"
    CHECKED = True
    NAMES_HELD = True
    ENGINE: ClassVar = ("beyond_ram/tokenize/engine/run.py", "beyond_ram/tokenize/engine/worker.py")
    """Files that mode `engine` runs in the stack's interpreter."""

    workload: Literal["tokenize"]
    matrix: TokenizeMatrix = Field(description="The axes; every combination is a cell.")

    def job(self, cell: Cell, places: Places) -> Job:
        return (
            super()
            .job(cell, places)
            .but(
                remedy=cell["remedy"],
                warmed=cell["cache"] == "warm",
                page_cache="cold" if cell["cache"] in ("cold", "interrupted") else "kept",
                limit_mb=cell["limit_mb"],
                stop_after=cell["stop_after"] if cell["cache"] == "interrupted" else None,
            )
        )
