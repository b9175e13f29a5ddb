"""The import closure of a Python file: every file of ours that makes an output is an input of it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def closure(file: Path | str, root: Path | str, beside: Path | str | None = None) -> list[str]:
    """A file and all files that it imports, directly or not, from the folder of `beside` or from packages below `root`.

    `beside` is the program that a module is run by; by default the file itself. The sources are read, nothing is
    imported. Paths are relative to `root` where they lie below it. What is imported by a name that is made at run time
    must be named by the caller.
    """
    seen: dict[Path, None] = {}
    waiting = [Path(root, file)]
    places = (Path(root, beside or file).parent, Path(root))
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen[path] = None
            waiting += _imported(path, places)
    return sorted(path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path) for path in seen)


@cache
def _imported(path: Path, places: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files of ours that one file imports, its packages' own files among them."""
    return tuple(dict.fromkeys(_files(path, places)))


def _files(path: Path, places: tuple[Path, ...]) -> Iterator[Path]:
    for level, parts in _names(path):
        # A relative import begins at the file's own package.
        yield from _modules(parts, (path.parents[level - 1],) if level else places)


@cache
def _names(path: Path) -> list[tuple[int, list[str]]]:
    """What a file imports: how many dots stand before each name, and its parts."""
    found = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [(0, alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = node.module.split(".") if node.module else []
            found += [(node.level, parts), *((node.level, [*parts, alias.name]) for alias in node.names)]
    return found


def _modules(parts: list[str], places: tuple[Path, ...]) -> Iterator[Path]:
    """The files of a dotted name, in the first place that has its beginning."""
    for place in places:
        found = [package for depth in range(1, len(parts) + 1) if (package := _module(place.joinpath(*parts[:depth])))]
        if found:
            yield from found
            return


@cache
def _module(path: Path) -> Path | None:
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None
