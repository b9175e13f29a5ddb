"""A run for pages: what is in its folder, its request, and its memory over time. Standard library only."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import memory_request
from ..chart import Line
from ..files import DamagedError
from . import reading
from .run_files import RUN_FILES
from .run_json import RunRecord

_KINDS = {"anon_bytes": ("anonymous", "anon"), "shmem_bytes": ("shared", "shmem"), "file_bytes": ("file", "file")}


@dataclass(frozen=True)
class RunFolder:
    """The files in a run's folder."""

    folder: Path
    record: RunRecord
    samples: Mapping[str, Sequence[Any]]
    events: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> "RunFolder":
        """Read a folder. Raises DamagedError if a file is missing, truncated, or from another run."""
        if not (folder / RUN_FILES[2]).exists():
            raise DamagedError(
                f"{folder}: no run is in there (it has no {RUN_FILES[2]}); name the folder of `watch --out`"
            )
        record = reading.record(folder)
        return cls(folder, record, reading.samples(folder, record), reading.events(folder))

    @property
    def request(self) -> memory_request.MemoryRequest | None:
        """The memory request; None if the record has no readings."""
        try:
            return memory_request.request_of(self.record)
        except KeyError:
            return None

    def series(self, name: str) -> list[tuple[float, float]]:
        """Seconds and bytes of a column, if it was read."""
        values = self.samples.get(name, ())
        return [(t_s, size) for t_s, size in zip(self.samples["t_s"], values, strict=False) if size is not None]

    @property
    def kept(self) -> list[tuple[float, float]]:
        """Kept memory if it was measured, else anonymous plus shared memory, else nothing."""
        if counted := self.series("kept_bytes"):
            return counted
        kinds = [self.samples.get(name, ()) for name in ("anon_bytes", "shmem_bytes")]
        return [
            (t_s, anon + shmem)
            for t_s, anon, shmem in zip(self.samples["t_s"], *kinds, strict=False)
            if anon is not None and shmem is not None
        ]

    @property
    def by_kind(self) -> list[Line]:
        """The lines of a chart: the kinds of memory, stacked, if all were read, and RSS."""
        kinds = [self.samples.get(name, ()) for name in _KINDS]
        whole = all(value is not None for values in kinds for value in values)
        lines = [
            Line(label, self.series(name), colour, stacked=True) for name, (label, colour) in _KINDS.items() if whole
        ]
        return [*lines, Line("RSS", self.series("rss_bytes"), "rss")]

    @property
    def outcome(self) -> str:
        """Its outcome and the reason, in words."""
        outcome = str(self.record["outcome"]).replace("_", " ")
        return f"{outcome}: {self.record['reason']}" if self.record.get("reason") else outcome

    @property
    def command(self) -> str:
        """Its command line for a shell; empty if unknown."""
        return shlex.join(map(str, self.record.get("command", [])))

    @property
    def several(self) -> bool:
        """Whether several processes ran at the same time. Then sums over processes count shared pages several times."""
        return bool((self.record["peak"].get("processes") or 0) > 1)

    @property
    def phases(self) -> list[Mapping[str, Any]]:
        """Its phases that began."""
        return [one for one in self.record.get("phases", []) if one.get("start_s") is not None]

    @property
    def provenance(self) -> list[tuple[str, str]]:
        """Names and values of its provenance, the first sixty; a nested value gets both names."""
        pairs = []
        for name, value in self.record.get("provenance", {}).items():
            inner = value.items() if isinstance(value, dict) else [("", value)]
            pairs += [
                (f"{name} {key}".replace("_", " ").strip(), str(one)) for key, one in inner if one not in (None, "")
            ]
        return pairs[:60]

    @property
    def files(self) -> list[str]:
        """The names of its files. A streamed run also has a log of requests."""
        return [*RUN_FILES, *(name for name in ("requests.csv",) if (self.folder / name).exists())]

    def link(self, name: str, page: Path) -> str:
        """The path of one of its files relative to a page, percent-encoded."""
        return quote(os.fsencode(Path(os.path.relpath(self.folder / name, page.parent)).as_posix()))
