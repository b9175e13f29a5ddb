"""Turn table rows into documents. Shared by the sources that read tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shards import Document, SourceError


@dataclass
class Columns:
    """The columns of text and label. Skips and counts rows without text."""

    text: str
    label: str | None
    left_out_without_text: int = 0

    @classmethod
    def of(cls, spec: dict[str, Any]) -> Columns:
        """`text_column` and `label_column` of a corpus."""
        return cls(spec.get("text_column") or "text", spec.get("label_column"))

    def names(self) -> list[str]:
        """The columns to read."""
        return [self.text] if self.label in (None, self.text) else [self.text, self.label]

    def check(self, names: Iterable[str], where: str) -> None:
        """Refuse a table that lacks a column; the message lists the columns it has."""
        names = list(names)
        for key, column in (("text_column", self.text), ("label_column", self.label)):
            if column is not None and names.count(column) > 1:
                raise SourceError(f"{where} has {names.count(column)} columns {column!r} ({key}); rename one")
            if column is not None and column not in names:
                raise SourceError(f"{where} has no column {column!r} ({key}); it has: {', '.join(map(str, names))}")

    def document(self, row: Mapping[str, Any], where: str, label: str) -> Document | None:
        """The document of a row; without a label column its label is `label`."""
        text = row[self.text]
        if text is None or text == "":
            self.left_out_without_text += 1
            return None
        if not isinstance(text, str):
            raise SourceError(f"column {self.text!r} of {where} holds {type(text).__name__}, not text")
        return Document(text, label if self.label is None else str(row[self.label]))
