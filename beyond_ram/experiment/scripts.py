"""Scripts of the user: any Python file, measured unchanged."""

import shlex

from pydantic import Field, field_validator

from .corpora import NonNegativeInt, Strict
from .places import TrackedPath


class Script(Strict):
    """A Python file that is measured unchanged ([docs/scripts.md](scripts.md))."""

    file: TrackedPath = Field(description="The Python file.")
    arguments: dict[str, str] = Field({}, description="Named arguments, in shell syntax: `small: --rows 100`.")
    corpus: str | None = Field(None, description="Corpus, by name; the script gets `--corpus` with its folder.")
    tokens: str | None = Field(
        None, description="Token dataset, by name; the script gets `--tokens-dir` with its folder."
    )
    formats: list[str] = Field([], description="Formats of the token dataset that the script reads, besides `npy`.")
    loads: list[TrackedPath] = Field(
        [],
        description="Folders of Python files that its other processes import: if one changes, the script runs again.",
    )
    repository: str | None = Field(
        None,
        description="Repository, by name, that a local Hub serves to each run. The script gets `HF_ENDPOINT`, and "
        "`--manifest` with the repository's manifest as JSON.",
    )
    latency_ms: NonNegativeInt = Field(0, description="Delay before every answer of that Hub, in milliseconds.")

    @field_validator("arguments")
    @classmethod
    def _words(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            try:
                shlex.split(text)
            except ValueError as error:
                raise ValueError(f"{name}: {text!r} cannot be split into words: {error}") from None
        return value
