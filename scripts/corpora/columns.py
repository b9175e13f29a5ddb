"""Turn rows of a text column into documents. Shared by the sources that read tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shards import Document, SourceError


@dataclass
class TextColumn:
    """The column of text of a corpus. Skips and counts rows without text."""

    name: str
    left_out_without_text: int = 0

    @classmethod
    def of(cls, spec: dict[str, Any]) -> TextColumn:
        return cls(spec.get("text_column") or "text")

    def check(self, names: Iterable[str], where: str) -> None:
        """Refuse a table that lacks the column; the message lists the columns it has."""
        names = list(names)
        if names.count(self.name) > 1:
            raise SourceError(f"{where} has {names.count(self.name)} columns {self.name!r} (text_column); rename one")
        if self.name not in names:
            listed = ", ".join(map(str, names))
            raise SourceError(f"{where} has no column {self.name!r} (text_column); it has: {listed}")

    def document(self, row: Mapping[str, Any], where: str, label: str) -> Document | None:
        """The document of a row; None without text."""
        text = row[self.name]
        if text is None or text == "":
            self.left_out_without_text += 1
            return None
        if not isinstance(text, str):
            raise SourceError(f"column {self.name!r} of {where} holds {type(text).__name__}, not text")
        return Document(text, label)
