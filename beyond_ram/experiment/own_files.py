"""A user's own files, turned into ids by several jobs: the options of `beyond-ram tokenize`."""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .corpora import AS_NUMBER, PositiveInt, Strict
from .places import InputText, PathText, TrackedPath, is_address

Word = Annotated[str, StringConstraints(pattern="^[^\\x00]*$")]
"""A word of a command."""


class Tokenise(Strict):
    """Your own files, turned into ids by one job per shard ([docs/tokenize.md](tokenize.md#many-machines)): target
    `tokenise`. The keys are the options of `beyond-ram tokenize`; target `tokenize` measures experiments instead."""

    inputs: Annotated[list[InputText], Field(min_length=1)] = Field(
        description="Files, folders and patterns, in order; also addresses of stores."
    )
    tokenizer: PathText = Field(description="A tokenizer.json, or a folder with one.")
    out: TrackedPath = Field(description="Folder for the ids: a new one, or one that the same settings have begun.")
    shards: Annotated[int, Field(ge=1, le=99_999), AS_NUMBER] = Field(
        description="Number of jobs. Each does a part of the inputs; with format `bin` each has a file."
    )
    workers: PositiveInt = Field(1, description="Processes of a job, which requests as many cores.")
    memory_limit_mb: PositiveInt = Field(
        2000,
        description="Limit of anonymous memory of a job's processes, in MB. The job requests it plus 350 MB for "
        "Snakemake, times the attempt.",
    )
    format: Literal["datasets", "bin", "parquet"] = Field("datasets", description="Format of the ids.")
    text_column: Word = Field("text", description="Column with the text.")
    append: Word | None = Field(None, description="Vocabulary entry to put after every document.")
    no_special_tokens: bool = Field(
        False, description="Whether to leave out the tokens that the tokenizer's post-processor adds."
    )
    stack: str | None = Field(
        None, description="Stack whose release of tokenizers gives the ids; default: as `beyond-ram tokenize`."
    )
    verify_share: Annotated[float, Field(ge=0, le=100), AS_NUMBER] | None = Field(
        None, description="Percent of the text to encode again and compare; default: 0.01."
    )
    sha256: bool = Field(False, description="Whether to compute the SHA-256 of all ids too, in the last job.")

    @property
    def addresses(self) -> list[str]:
        """The inputs that are in stores, whose state only the command looks at."""
        return [name for name in self.inputs if is_address(name)]

    def options(self, joining: bool = False) -> list[str]:
        """The options of a shard's job, or of the job that joins them: those that decide ids and files are the same."""
        given = {"append": self.append, "stack": self.stack, "verify-share": None if joining else self.verify_share}
        given |= {"tokenizer": self.tokenizer, "out": self.out, "format": self.format, "text-column": self.text_column}
        switches = {"no-special-tokens": self.no_special_tokens, "sha256": joining and self.sha256}
        words = [f"--{name}={value}" for name, value in given.items() if value is not None]
        return [*words, *(f"--{name}" for name, on in switches.items() if on)]

    def is_recorded(self, record: str, copy: str, question: str) -> bool:
        """Whether a copy has this question and a record of the command's, and the files in it have their sizes."""
        try:
            text = Path(record).read_text(encoding="utf-8")
            files = json.loads(text)["files"]  # of the whole a list of names
            sizes = files.items() if isinstance(files, dict) else ()
            there = all(Path(self.out, name).stat().st_size == size for name, (size, _) in sizes)
            return there and Path(copy).read_text(encoding="utf-8") == f"{question}\n{text}"
        except (OSError, KeyError, TypeError, ValueError):
            return False
