"""The import closure of a Python file, and digests: that of all code that makes an output is a parameter of its job."""

import ast
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class PythonSource:
    """What a plan reads of a Python file."""

    imports: tuple[tuple[int, tuple[str, ...]], ...]
    """The number of leading dots and the parts of each name."""
    parameters: Mapping[str, list[str]]
    """The names of the positional parameters of each function of the module."""


def closure(file: Path | str, root: Path | str, beside: Path | str | None = None) -> list[str]:
    """A file with all files that it imports, directly or indirectly, from the folder of `beside` or from packages below
    `root`.

    `beside` is the program that runs the module; by default the file itself. Sources are parsed, nothing is imported.
    Paths below `root` are relative to it. The caller must name modules that are imported under a computed name.
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
    """Our files that one file imports, including the `__init__.py` of their packages."""
    try:
        imports = parsed(path).imports
    except (OSError, SyntaxError, ValueError):  # the job that runs the file says what is wrong with it
        return ()
    # A relative import starts at the package of the file.
    modules = (_modules(parts, (path.parents[level - 1],) if level else places) for level, parts in imports)
    return tuple(dict.fromkeys(file for files in modules for file in files))


@cache
def digest(files: tuple[str, ...], root: Path | str) -> str:
    """The SHA-256 of the content of some files. A missing file counts as empty."""
    return hashlib.sha256("".join(_digest(Path(root, file)) for file in files).encode()).hexdigest()


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()


@cache
def parsed(path: Path) -> PythonSource:
    """Parse a file, once in a process: a plan asks for the same files many times."""
    tree = ast.parse(path.read_bytes())
    imports: list[tuple[int, tuple[str, ...]]] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            imports += [(0, tuple(alias.name.split("."))) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = tuple(node.module.split(".")) if node.module else ()
            imports += [(node.level, parts), *((node.level, (*parts, alias.name)) for alias in node.names)]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    parameters = {one.name: [each.arg for each in (*one.args.posonlyargs, *one.args.args)] for one in functions}
    return PythonSource(tuple(dict.fromkeys(imports)), parameters)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement of a file. Expressions, most of a syntax tree, contain no imports, so they are skipped."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())


@cache
def _modules(parts: tuple[str, ...], places: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files of a dotted name, in the first place that has its first part."""
    for place in places:
        files = [file for depth in range(1, len(parts) + 1) if (file := _module(place, parts[:depth]))]
        if files:
            return tuple(files)
    return ()


@cache
def _module(place: Path, parts: tuple[str, ...]) -> Path | None:
    name = os.path.join(place, *parts)  # noqa: PTH118 - a plan asks for thousands
    return next((Path(file) for file in (f"{name}/__init__.py", f"{name}.py") if os.path.isfile(file)), None)  # noqa: PTH113
