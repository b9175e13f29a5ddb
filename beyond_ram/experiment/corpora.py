"""The corpora of a config, and their tokenizers."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .places import PathText, PatternText


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers; YAML reads yes, no, on and off so too")
    return value


AS_NUMBER = BeforeValidator(_no_truth)
"""For numbers, because pydantic takes true for 1."""
PositiveInt = Annotated[int, Field(gt=0), AS_NUMBER]
NonNegativeInt = Annotated[int, Field(ge=0), AS_NUMBER]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Tokenizer(Strict):
    """Where a corpus's tokenizer comes from: exactly one of `train`, `path` and `hub`."""

    train: Literal["characters", "byte-level"] | None = Field(
        None,
        description="Train one on the corpus. `characters`: NFKC, Metaspace and BPE over single characters, as for "
        "the original corpus; `byte-level`: byte-level BPE, for text.",
    )
    entries: Annotated[int, Field(ge=300, le=200_000), AS_NUMBER] = Field(
        4102, description="Vocabulary size of a trained tokenizer, with special tokens."
    )
    path: PathText | None = Field(None, description="Folder with tokenizer.json.")
    hub: str | None = Field(None, description="Repository id, such as `openai-community/gpt2`.")
    revision: str | None = Field(None, description="Branch, tag or commit of `hub`; default: the main branch.")

    @model_validator(mode="after")
    def _one_origin(self) -> "Tokenizer":
        origins = [key for key in ("train", "path", "hub") if getattr(self, key)]
        if len(origins) != 1:
            raise ValueError(f"give exactly one of train, path and hub; there is {' and '.join(origins) or 'none'}")
        return self

    def spec(self) -> dict[str, Any]:
        """The settings of the tokenizer's program."""
        if self.train:
            return {"train": self.train, "entries": self.entries}
        return {"path": self.path} if self.path else {"hub": self.hub, "revision": self.revision}


class Corpus(Strict):
    tokenizer: Tokenizer = Field(description="Tokenizer of this corpus.")

    def spec(self) -> dict[str, Any]:
        """The settings of the corpus's program."""
        return self.model_dump(mode="json", exclude={"tokenizer"})

    def file_count(self) -> int | None:
        """Number of files of the corpus, if the config states it."""
        documents = getattr(self, "documents", None)
        return documents and -(-documents // getattr(self, "documents_per_file", 1))


class BinariesCorpus(Corpus):
    """Shared libraries of the locked environment: one character per byte, no white space, one document per file."""

    source: Literal["binaries"]
    documents: Annotated[int, Field(ge=1, le=673), AS_NUMBER] = Field(
        110, description="Number of documents; 673 make 930 MB."
    )
    seed: NonNegativeInt = Field(1, description="Seed of the document sizes.")


class PythonCorpus(Corpus):
    """Source files of the standard library: real text with white space."""

    source: Literal["python"]
    documents: PositiveInt | None = Field(None, description="Number of documents; default: all.")
    documents_per_file: PositiveInt = Field(20, description="Documents per file.")


class SyntheticCorpus(Corpus):
    """Random words from a seed, any amount, written as a stream."""

    source: Literal["synthetic"]
    documents: PositiveInt = Field(description="Documents.")
    document_characters: PositiveInt | tuple[PositiveInt, PositiveInt] = Field(
        1_000_000, description="Characters per document, or minimum and maximum."
    )
    vocabulary: PositiveInt = Field(50_000, description="Size of the vocabulary.")
    white_space: bool = Field(True, description="Whether words are separated by white space.")
    documents_per_file: PositiveInt = Field(1, description="Documents per file.")
    seed: NonNegativeInt = Field(1, description="Seed of words and lengths.")

    @model_validator(mode="after")
    def _lowest_first(self) -> "SyntheticCorpus":
        between = self.document_characters
        if isinstance(between, tuple) and between[0] > between[1]:
            raise ValueError("document_characters: the lowest comes before the highest")
        return self


FORMATS = {
    ".txt": "txt", ".text": "txt", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv",
    ".tsv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
"""Formats of corpus files by their ending; scripts/corpora/files.py reads them."""
PACKED = (".gz", ".zst")
"""Endings that may follow those of text, JSON Lines and CSV."""


class FilesCorpus(Corpus):
    """Your own files."""

    source: Literal["files"]
    glob: PatternText | list[PatternText] = Field(description="Pattern or patterns of the files.")
    format: Literal["txt", "jsonl", "csv", "parquet", "arrow"] | None = Field(
        None, description="Format; default: by the ending of each file."
    )
    text_column: str = Field("text", description="Column with the text.")
    documents_per_file: PositiveInt = Field(1, description="Documents per file of the prepared corpus.")


class HubCorpus(Corpus):
    """A dataset from a Hub."""

    source: Literal["hub"]
    id: str = Field(description="Repository id, such as `stanfordnlp/imdb`.")
    config: str | None = Field(None, description="Configuration of the dataset.")
    split: str = Field("train", description="Split.")
    revision: str | None = Field(None, description="Branch, tag or commit; default: the main branch.")
    text_column: str = Field("text", description="Column with the text.")
    documents: PositiveInt | None = Field(None, description="Number of documents, from the beginning; default: all.")
    documents_per_file: PositiveInt = Field(1, description="Documents per file of the prepared corpus.")


AnyCorpus = Annotated[
    BinariesCorpus | PythonCorpus | SyntheticCorpus | FilesCorpus | HubCorpus, Field(discriminator="source")
]
