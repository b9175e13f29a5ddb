"""The import closure of a Python file: every file of ours that makes an output is an input of it."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def closure(file: Path | str, root: Path | str, beside: Path | str | None = None) -> list[str]:
    """A file and all files that it imports, directly or indirectly, from the folder of `beside` or from packages below
    `root`.

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
def _names(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """The imports of a file: number of dots before each name, and its parts."""
    names: list[tuple[int, tuple[str, ...]]] = []
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [(0, tuple(alias.name.split("."))) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = tuple(node.module.split(".")) if node.module else ()
            names += [(node.level, parts), *((node.level, (*parts, alias.name)) for alias in node.names)]
    return list(dict.fromkeys(names))


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement of a file; expressions, which are most of a tree, contain no import."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())


@cache
def _modules(parts: tuple[str, ...], places: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files of a dotted name, in the first place that has its beginning."""
    for place in places:
        files = [file for depth in range(1, len(parts) + 1) if (file := _module(place, parts[:depth]))]
        if files:
            return tuple(files)
    return ()


@cache
def _module(place: Path, parts: tuple[str, ...]) -> Path | None:
    name = os.path.join(place, *parts)  # noqa: PTH118 - a plan asks for thousands
    return next((Path(file) for file in (f"{name}.py", f"{name}/__init__.py") if os.path.isfile(file)), None)  # noqa: PTH113
