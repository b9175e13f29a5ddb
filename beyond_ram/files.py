"""Files that are there whole or not at all, and the one error for those that are not what they should be."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class DamagedError(ValueError):
    """A file that is cut, or not what it should be; the text is one line that names it and says what to do."""


@contextlib.contextmanager
def whole(path: Path | str) -> Iterator[Path]:
    """A name to write a file under; afterwards the file has the name `path`. After an error nothing of it is left, and
    what was there before is as it was."""
    path = Path(path)
    partial = path.with_name(f".partial-{path.name}")  # the ending is kept: some savers go by it
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_json(path: Path | str, *keys: str) -> Any:
    """What a file of JSON that the workflow made holds, with `keys` an object that has them.

    Raises DamagedError where it is missing, cut or something else.
    """
    try:
        found = json.loads(Path(path).read_bytes().decode())
        if not keys or (isinstance(found, dict) and {*keys} <= {*found}):
            return found
        why = f"no object with {' and '.join(map(repr, keys))}"
    except FileNotFoundError:
        why = "missing"
    except (ValueError, RecursionError):
        why = "no JSON, or cut"
    raise DamagedError(f"{path}: {why}; delete it, and Snakemake makes it again")
