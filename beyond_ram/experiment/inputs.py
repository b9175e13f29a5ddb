"""Check files that a config names before anything runs. A check returns why a file cannot be used, or None."""

import ast
import contextlib
import glob
import gzip
import io
import os
import re
import symtable
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

from .corpora import FORMATS, PACKED, FilesCorpus
from .tokens import TokenDataset


def unreadable(path: Path | str) -> str | None:
    """Why a file or folder cannot be read."""
    if not Path(path).exists():
        return f"there is no {path}{_cwd_hint(path)}"
    return None if os.access(path, os.R_OK) else f"{path} cannot be read by this user"


def module(path: str, names: Iterable[str]) -> str | None:
    """Why a Python file cannot be a module with some names."""
    if not Path(path).is_file():
        return f"there is no file {path}{_cwd_hint(path)}"
    if fault := unreadable(path):
        return fault
    if names and not path.endswith(".py"):  # a script without names is run, not imported
        return f"{path}: a module has to end in .py"
    try:
        source = Path(path).read_bytes()
        body = ast.parse(source).body
        symbols = symtable.symtable(source, path, "exec").get_symbols()  # type: ignore[arg-type]  # it takes bytes too
    except (SyntaxError, ValueError) as error:
        return f"{path} is not Python: {error}"
    if any(isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names) for node in body):
        return None  # its names are not in this source
    bound = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    missing = [name for name in names if name not in bound]
    return f"{path} has no {' and no '.join(missing)}" if missing else None


def corpus(spec: FilesCorpus) -> str | None:
    """Why the files of a corpus cannot be read."""
    for pattern in [spec.glob] if isinstance(spec.glob, str) else spec.glob:
        if looping := _looping(pattern):
            return f"{looping} is a link to a folder above it, and {pattern!r} would follow it; take it out"
        paths = glob.glob(str(Path(pattern).expanduser()), recursive=True)  # noqa: PTH207 - absolute patterns
        files = [path for path in paths if Path(path).is_file()]
        if not files:
            return f"{pattern!r} matches no file{_cwd_hint(pattern)}"
        for file in files:
            if fault := unreadable(file):
                return fault
            if spec.format is None and not format_of(file):
                return f"{file} ends in none of {', '.join(FORMATS)}; say how to read it with `format`"
    return None


def tokenizer(path: str) -> str | None:
    """Why a folder is no tokenizer."""
    file = Path(path).expanduser() / "tokenizer.json"
    return unreadable(file) if file.is_file() else f"there is no file {file}{_cwd_hint(path)}"


def dataset(spec: TokenDataset) -> str | None:
    """Why the file of a token dataset has no rows of ids."""
    path = str(spec.path)
    if not Path(path).is_file():
        return f"there is no file {path}{_cwd_hint(path)}"
    if fault := unreadable(path):
        return fault
    if spec.dtype:
        row_bytes = spec.width * int(spec.dtype.removeprefix("u").removeprefix("int")) // 8
        return _too_few(Path(path).stat().st_size // row_bytes, spec.rows, path)
    array, fault = npy(path)
    if fault:
        return fault if path.endswith(".npy") else f"{fault}; of a file without a header give `dtype` and `width`"
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] < 2 or not array.flags.c_contiguous:
        held = f"{array.dtype} of shape {array.shape}{'' if array.flags.c_contiguous else ', column after column'}"
        return f"{path} holds {held}; it has to hold whole numbers of shape (rows, ids of a row), row after row"
    return _too_few(len(array), spec.rows, path)


def npy(path: str) -> tuple[Any, str | None]:
    """An .npy file, mapped, or why it cannot be."""
    import numpy

    try:
        array = numpy.load(path, mmap_mode="r")
        if isinstance(array, numpy.ndarray) and array.ndim:
            return array, None
        return None, f"{path} is no array of rows"
    except (ValueError, OSError, EOFError) as error:
        return None, f"{path} is no .npy file that can be mapped: {error}"


def _too_few(count: int, requested: int | None, path: str) -> str | None:
    if not count:
        return f"{path} holds no whole row"
    return f"{path} has {count:,} rows, and {requested:,} are asked for" if requested and requested > count else None


def _cwd_hint(path: str | Path) -> str:
    """A clause with the working directory, for a relative path."""
    return "" if str(path)[0] in "/~" else f" in {Path.cwd()}"


def _looping(pattern: str) -> str | None:
    """A link that `**` of a pattern would follow in a circle. Two such links make more paths than can be listed."""
    before, recursive, _ = str(Path(pattern).expanduser()).partition("**")
    if not recursive:
        return None
    visited: set[Path] = set()
    # If the folders above `**` are patterns too, start from the last one that is not.
    first = Path(re.split(r"[*?[]", before)[0] or ".")
    waiting: list[tuple[Path, tuple[Path, ...]]] = [(first if before[-1:] in ("/", "") else first.parent, ())]
    while waiting:
        folder, above = waiting.pop()
        resolved = folder.resolve()
        if resolved in above:
            return str(folder)
        if resolved in visited:
            continue
        visited.add(resolved)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            waiting += [(Path(entry.path), (*above, resolved)) for entry in entries if entry.is_dir()]
    return None


def ending(file: str) -> str:
    """The ending of a name, without that of its packing."""
    packed = next((one for one in PACKED if file.lower().endswith(one)), "")
    return Path(file[: len(file) - len(packed)]).suffix.lower()


def format_of(file: str) -> str | None:
    """How a corpus file is read; None if it is not. Parquet and Arrow have packing of their own."""
    form = FORMATS.get(ending(file))
    return None if form in ("parquet", "arrow") and file.lower().endswith(PACKED) else form


def opened(file: str) -> IO[bytes]:
    """The bytes of a corpus file, unpacked. Raises OSError."""
    if file.lower().endswith(".gz"):
        return cast(IO[bytes], gzip.open(file))
    if file.lower().endswith(".zst"):
        import pyarrow

        return io.BufferedReader(pyarrow.CompressedInputStream(pyarrow.OSFile(file), "zstd"))
    return Path(file).open("rb")
