"""Token datasets, the formats they are written in, and the loaders that read them.

A format is a module of scripts/workloads/formats, a loader one of scripts/workloads/loaders: adding one is one file.
What the workflow must know of it stands there as constants, and is read without importing the module, which needs its
stack.
"""

import ast
from pathlib import Path
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints

from .corpora import Strict
from .paths import NAME
from .places import TrackedPath

FORMATS, LOADERS = Path("scripts/workloads/formats"), Path("scripts/workloads/loaders")
# What all modules of a folder share.
_HELPERS = {"arrow_columns", "how"}
SOURCE_FORMAT = "npy"


class TokenDataset(Strict):
    """Rows of ids and a label, generated in a stream or cut from a tokenised corpus."""

    rows: PositiveInt | None = Field(None, description="Rows; default, with `corpus`: as many as it gives.")
    width: Annotated[int, Field(ge=4, multiple_of=2)] = Field(1024, description="Ids of a row.")
    vocabulary: Annotated[int, Field(ge=2, le=1 << 31)] = Field(32_000, description="Ids are below it.")
    seed: NonNegativeInt = Field(1, description="Seed of the ids.")
    corpus: Annotated[str, StringConstraints(pattern=f"^{NAME}$")] | None = Field(
        None, description="Corpus to tokenise instead; its own ids, documents one after the other."
    )


class OwnLoader(Strict):
    """A loader of your own, by the path of its module ([docs/loading.md](loading.md))."""

    module: TrackedPath = Field(description="Python file with `make(folder, how)`.")
    data: TrackedPath = Field(description="File or folder that it reads.")
    rows: PositiveInt | None = Field(None, description="Rows that an epoch must deliver, where that is known.")


def formats(root: Path | str = ".") -> list[str]:
    """The names of all formats."""
    return _modules(Path(root, FORMATS))


def loaders(root: Path | str = ".") -> list[str]:
    """The names of all loaders."""
    return _modules(Path(root, LOADERS))


def format_of(loader: str, root: Path | str = ".") -> str:
    """The format that a loader reads. Raises ValueError where its module does not say."""
    return _constant(Path(root, LOADERS, f"{loader}.py"), "FORMAT")


def writer_stack(name: str, root: Path | str = ".") -> str:
    """The stack that writes a format: its module's STACK, else `loaders`."""
    return _constant(Path(root, FORMATS, f"{name}.py"), "STACK", "loaders")


def _modules(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.py") if path.stem not in _HELPERS)


def _constant(module: Path, name: str, default: str | None = None) -> str:
    """The value of a module's constant, given alone or in a tuple, as its source states it."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = (
                node.value.elts if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) else [node.value]
            )
            for one, value in zip(names, values, strict=True):
                if isinstance(one, ast.Name) and one.id == name:
                    return str(ast.literal_eval(value))
    if default is None:
        raise ValueError(f"{module}: has no constant {name}")
    return default
