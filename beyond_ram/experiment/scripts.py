"""Scripts of the user: any Python file, measured unchanged."""

import shlex

from pydantic import Field, field_validator

from .corpora import Strict
from .places import TrackedPath


class Script(Strict):
    """A Python file that is measured unchanged ([docs/scripts.md](scripts.md))."""

    file: TrackedPath = Field(description="The Python file.")
    arguments: dict[str, str] = Field({}, description="Named arguments, in shell syntax: `small: --rows 100`.")

    @field_validator("arguments")
    @classmethod
    def _words(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            try:
                shlex.split(text)
            except ValueError as error:
                raise ValueError(f"{name}: {text!r} cannot be split into words: {error}") from None
        return value
