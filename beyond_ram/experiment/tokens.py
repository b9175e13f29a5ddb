"""Token datasets, the formats they are written in, and the loaders that read them.

A format is a module of scripts/workloads/formats, a loader one of scripts/workloads/loaders: adding one is one file.
Its constants tell the workflow what it needs. They are read from the source without importing the module, which needs
its stack.
"""

import ast
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .corpora import AS_NUMBER, PositiveInt, Strict
from .places import TrackedPath

FORMATS, LOADERS = Path("scripts/workloads/formats"), Path("scripts/workloads/loaders")
# Helper modules, which are neither loaders nor formats.
_HELPERS = {"arrow_columns", "how"}
SOURCE_FORMAT = "npy"


class TokenDataset(Strict):
    """Rows of ids with a label: generated as a stream, or read from your own file."""

    rows: PositiveInt | None = Field(
        None, description="Number of rows. With `path`, the first rows are used; default: all."
    )
    width: Annotated[int, Field(ge=2), AS_NUMBER] = Field(
        1024, description="Ids per row, an even number. Of a file without header any number."
    )
    path: TrackedPath | None = Field(
        None,
        description="Your own file instead: integers in a `.npy` of rows, or in a file without header with `dtype` "
        "and `width`, as `beyond-ram tokenize --format bin` writes it.",
    )
    dtype: Literal["uint16", "uint32", "int32", "int64"] | None = Field(
        None, description="Type of the ids in a file without header, in this machine's byte order."
    )

    @model_validator(mode="after")
    def _one_origin(self) -> "TokenDataset":
        if self.dtype and not self.path:
            raise ValueError("dtype goes with `path`, a file of your own")
        if not self.path and (self.width < 4 or self.width % 2):
            raise ValueError(f"a width of {self.width}; generated rows have an even number of ids, 4 at least")
        if self.path and bool(self.dtype) != ("width" in self.model_fields_set):
            raise ValueError(
                "a file without a header needs `dtype` and `width`, the ids of a row; an .npy file neither"
            )
        return self

    def spec(self) -> dict[str, Any]:
        """The settings of the dataset's program."""
        if not self.path:
            return self.model_dump(mode="json", exclude={"path", "dtype"})
        return {"path": self.path, "dtype": self.dtype, "rows": self.rows, "width": self.width}


class OwnLoader(Strict):
    """A loader of your own, by the path of its module ([docs/loading.md](loading.md))."""

    module: TrackedPath = Field(description="Python file with `make(folder, how)` and `SHUFFLE`.")
    data: TrackedPath | None = Field(
        None, description="File or folder that it reads instead of the cell's token dataset."
    )
    format: str = Field(SOURCE_FORMAT, description="Without `data`: the format of the token dataset that it reads.")
    rows: PositiveInt | None = Field(
        None, description="With `data`: number of rows that an epoch must deliver, if known."
    )

    @model_validator(mode="after")
    def _rows_of_data(self) -> "OwnLoader":
        if self.rows and not self.data:
            raise ValueError("rows goes with `data`; a token dataset knows how many it has")
        return self


def names_in(folder: Path, root: Path | str = ".") -> list[str]:
    """The names of all formats or loaders, which are the modules of their folder."""
    return sorted(path.stem for path in Path(root, folder).glob("*.py") if path.stem not in _HELPERS)


def format_of(loader: str, root: Path | str = ".") -> str:
    """The format that a loader reads. Raises ValueError if its module does not define FORMAT."""
    return str(_constant(Path(root, LOADERS, f"{loader}.py"), "FORMAT"))


def _constant(module: Path, name: str) -> Any:
    """The value of a module's constant, assigned alone or in a tuple, read from its source.

    Raises ValueError if it is missing, or not a literal.
    """
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for one, value in pairs:
                if isinstance(one, ast.Name) and one.id == name:
                    try:
                        return ast.literal_eval(value)
                    except ValueError:
                        raise ValueError(f"{module}: the constant {name} has to be written out") from None
    raise ValueError(f"{module}: has no constant {name}")
