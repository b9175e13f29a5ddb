"""Real text with white space: the sources of the running interpreter's standard library.

    {"source": "python", "documents": 200, "documents_per_file": 20}

One module is one document, in the order of the paths; `documents` null takes all. Skips modules that are not UTF-8.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from shards import CorpusPlan, Document, SourceError, run

# Without installed packages, and without lib2to3, which exists only up to Python 3.12 and has invalid test files.
LEFT_OUT = {"site-packages", "dist-packages", "lib2to3", "__pycache__"}


def sources(root: Path) -> list[str]:
    """Relative paths of the modules under `root`, sorted; some thousands."""
    paths = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        # The build of the interpreter writes these, with paths of the build machine.
        folders[:] = [name for name in folders if not name.startswith("config-")]
        modules = [name for name in names if name.endswith(".py") and not name.startswith("_sysconfigdata")]
        paths += [(Path(folder) / name).relative_to(root).as_posix() for name in modules]
    return sorted(paths)


def documents(root: Path, notes: dict[str, Any]) -> Iterator[Document]:
    """Every module that is UTF-8; `notes` counts the others."""
    notes["left_out_not_utf8"] = 0
    for name in sources(root):
        try:
            text = (root / name).read_bytes().decode()
        except UnicodeDecodeError:
            notes["left_out_not_utf8"] += 1
            continue
        if text:
            yield Document(text, name)


def plan(spec: dict[str, Any]) -> CorpusPlan:
    root = Path(sysconfig.get_path("stdlib"))
    wanted = spec.get("documents")
    notes: dict[str, Any] = {}
    if wanted is not None:
        modules = sum(1 for _ in documents(root, {}))
        if wanted > modules:
            raise SourceError(f'"documents" is {wanted}; the standard library of this interpreter has {modules}')
    return CorpusPlan(
        islice(documents(root, notes), wanted),
        documents_per_file=spec.get("documents_per_file", 20),
        notes=notes,
        expected=wanted,
    )


if __name__ == "__main__":
    run("python", plan)
