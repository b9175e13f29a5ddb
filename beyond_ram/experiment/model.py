"""The model of the config: corpora, stacks, experiments and their matrices.

The JSON schema (schemas/config.schema.json) and the tables of docs/configuration.md are generated from it.
"""

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, StringConstraints, model_validator

from .paths import NAME, Cell, pattern

Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# Corpora ------------------------------------------------------------------------------------------------------------


class Tokenizer(Strict):
    """Where a corpus's tokenizer comes from: exactly one of `train`, `path` and `hub`."""

    train: Literal["characters", "byte-level"] | None = Field(
        None,
        description="Train one on the corpus. `characters`: NFKC, Metaspace and BPE over single characters, the "
        "profile of the corpus where the question was first asked; `byte-level`: byte-level BPE, for text.",
    )
    entries: Annotated[int, Field(ge=300, le=200_000)] = Field(
        4102, description="Vocabulary of a trained tokenizer, special tokens included."
    )
    path: str | None = Field(None, description="Folder with tokenizer.json.")
    hub: str | None = Field(None, description="Repository id, such as `openai-community/gpt2`.")
    revision: str | None = Field(None, description="Branch, tag or commit of `hub`; default: the main branch.")

    @model_validator(mode="after")
    def _one_origin(self) -> "Tokenizer":
        given = [key for key in ("train", "path", "hub") if getattr(self, key)]
        if len(given) != 1:
            raise ValueError(f"give exactly one of train, path and hub; there is {' and '.join(given) or 'none'}")
        return self

    def spec(self) -> dict[str, Any]:
        """What the tokenizer's program is told."""
        if self.train:
            return {"train": self.train, "entries": self.entries}
        return {"path": self.path} if self.path else {"hub": self.hub, "revision": self.revision}


class Corpus(Strict):
    tokenizer: Tokenizer = Field(description="Tokenizer of this corpus.")

    def spec(self) -> dict[str, Any]:
        """What the corpus's program is told."""
        return self.model_dump(mode="json", exclude={"tokenizer"})

    def file_count(self) -> int | None:
        """How many files the corpus will have, where the config says so."""
        documents = getattr(self, "documents", None)
        return documents and -(-documents // getattr(self, "documents_per_file", 1))


class BinariesCorpus(Corpus):
    """Shared libraries of the locked environment, one character a byte, no white space, one document a file."""

    source: Literal["binaries"]
    documents: Annotated[int, Field(ge=1, le=673)] = Field(110, description="Documents; 673 make 930 MB.")
    seed: NonNegativeInt = Field(1, description="Seed of the document sizes.")


class PythonCorpus(Corpus):
    """The standard library's sources: real text with white space."""

    source: Literal["python"]
    documents: PositiveInt | None = Field(None, description="Documents; default: all there are.")
    documents_per_file: PositiveInt = Field(20, description="Documents in a file.")


class SyntheticCorpus(Corpus):
    """Seeded random words of any amount, written in a stream."""

    source: Literal["synthetic"]
    documents: PositiveInt = Field(description="Documents.")
    document_characters: PositiveInt | tuple[PositiveInt, PositiveInt] = Field(
        1_000_000, description="Characters of a document, or the lowest and the highest."
    )
    vocabulary: PositiveInt = Field(50_000, description="Different words.")
    white_space: bool = Field(True, description="Whether white space stands between the words.")
    documents_per_file: PositiveInt = Field(1, description="Documents in a file.")
    seed: NonNegativeInt = Field(1, description="Seed of words and lengths.")


class FilesCorpus(Corpus):
    """Your own files."""

    source: Literal["files"]
    glob: str | list[str] = Field(description="Pattern, or patterns, of the files.")
    format: Literal["txt", "jsonl", "csv", "parquet", "arrow"] | None = Field(
        None, description="Default: by the ending of each file."
    )
    text_column: str = Field("text", description="Column that holds the text.")
    label_column: str | None = Field(None, description="Column that holds a label.")
    documents_per_file: PositiveInt = Field(1, description="Documents in a file of the prepared corpus.")


class HubCorpus(Corpus):
    """A dataset from a Hub."""

    source: Literal["hub"]
    id: str = Field(description="Repository id, such as `stanfordnlp/imdb`.")
    config: str | None = Field(None, description="Configuration of the dataset.")
    split: str = Field("train", description="Split.")
    revision: str | None = Field(None, description="Branch, tag or commit; default: the main branch.")
    text_column: str = Field("text", description="Column that holds the text.")
    label_column: str | None = Field(None, description="Column that holds a label.")
    documents: PositiveInt | None = Field(None, description="Take the first so many; default: all.")
    documents_per_file: PositiveInt = Field(1, description="Documents in a file of the prepared corpus.")


AnyCorpus = Annotated[
    BinariesCorpus | PythonCorpus | SyntheticCorpus | FilesCorpus | HubCorpus, Field(discriminator="source")
]

# Experiments --------------------------------------------------------------------------------------------------------


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


class TokenizeMatrix(Matrix):
    """The axes of the workload `tokenize`."""

    stack: Annotated[list[Name], Field(min_length=1)] = Field(description="Stacks, by name.")
    corpus: Annotated[list[Name], Field(min_length=1)] = Field(description="Corpora, by name.")
    mode: Annotated[list[Literal["basic", "shard"]], Field(min_length=1)] = Field(
        ["basic"], description="`basic`: one map; `shard`: N shards mapped in turn, then concatenated."
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
        if point["mode"] == "basic":
            if stopped:
                return ()
            point["shards"] = 1
        if not stopped:
            point["stop_after"] = 0
        return super().normalise(point)


class TokenizeExperiment(Strict):
    """Tokenisation of a corpus with `Dataset.map`."""

    workload: Literal["tokenize"]
    matrix: TokenizeMatrix = Field(description="The axes; every combination is a cell.")
    repeats: PositiveInt = Field(1, description="Runs of every cell.")
    interval_ms: Annotated[int, Field(ge=1, le=60_000)] = Field(
        5,
        description="Sampling interval, in milliseconds, a fifth of it while a peak is being made. At 5, the sampled "
        "peak of a tokenisation was within 0.6 % of the kernel's high-water mark (n = 12), for 3.2 to 4.1 % of a core.",
    )
    memory_mb: PositiveInt = Field(
        4000, description="Memory to ask a scheduler for until a run has measured it, in megabytes."
    )

    def cells(self, name: str) -> list[Cell]:
        return self.matrix.cells(name, self.repeats)


class Config(Strict):
    """The config of beyond-ram."""

    results: str = Field("results", description="Folder of everything that is made, but for environments.")
    corpora: dict[Name, AnyCorpus] = Field(description="Corpora, by name.")
    experiments: dict[Name, TokenizeExperiment | None] = Field(
        description="Experiments, by name; `NAME: null` takes one of the default config away."
    )

    def cells(self, name: str) -> list[Cell]:
        experiment = self.experiments[name]
        return experiment.cells(name) if experiment else []

    def named(self, workload: str) -> list[str]:
        """The experiments of one workload."""
        return [name for name, e in self.experiments.items() if e and e.workload == workload]


def tokenize_constraints(experiments: Sequence[str]) -> dict[str, str]:
    """Wildcard constraints of the runs of some experiments, before and after the level of the cache state.

    Runs kept from before an upgrade, with their `@` in the stack, are no rule's to make again.
    """
    stack, *axes = TokenizeMatrix.model_fields
    cache = axes.index("cache")
    return {
        "tokenize_head": f"(?:{'|'.join(experiments) or '-'})/{stack}~{NAME}/{pattern(axes[:cache])}",
        "tokenize_tail": f"{pattern(axes[cache + 1 :])}/{pattern(['rep'])}",
        "cache": "cold|warm",
    }
