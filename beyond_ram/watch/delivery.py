"""The files of a run while it runs, and their delivery into the requested folder."""

import errno
import os
import shutil
import tempfile
from pathlib import Path

from .. import mask_secrets
from ..files import locked
from ..records.run_files import RUN_FILES
from .missing import Missing, one_line
from .outfile import OutFile

# Errors that mean a wrong folder, not a machine in trouble: reported before the command runs.
_WRONG_FOLDER = {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP,
                 errno.ENAMETOOLONG}  # fmt: skip
# The beginning of each file, without white space.
_BEGINS = dict(zip(RUN_FILES, (b"t_s,phase,processes,", b'{"t_s":', b'{"outcome":'), strict=True))
_HEAD_BYTES = 256
# If no folder can be made, the content waits in memory.
_NOWHERE = Path(os.devnull, "none")


class Delivery:
    """Delivers files into `out`; None delivers nothing."""

    def __init__(self, out: Path | None, missing: Missing) -> None:
        self.out, self.missing = out, missing
        self.scratch = _NOWHERE
        self.folders: list[str] = []
        self.elsewhere = ""
        self._locks: list[int] = []

    def make_scratch(self) -> None:
        """Make a folder for the files during the run: in `out`, or elsewhere if `out` has no space.

        Raises OSError if `out` cannot be a folder, or has files of those names that beyond-ram did not write.
        """
        if self.out is not None:
            out = self.out
            if existing := self.missing.attempt("the folder's earlier files", lambda: foreign(out), None):
                why = "not made by beyond-ram, and not replaced: choose another --out"
                raise FileExistsError(errno.EEXIST, why, str(existing))
            try:
                self.out.mkdir(parents=True, exist_ok=True)
                self._locks.append(descriptor := os.open(self.out, os.O_RDONLY | os.O_DIRECTORY))
                if locked(descriptor) is False:  # True, or None where the file system cannot
                    why = "another watcher writes there: choose another --out"
                    raise FileExistsError(errno.EEXIST, why, str(self.out))
                self._scratch_in(self.out, ".watch-")
            except Exception as error:
                if isinstance(error, OSError) and error.errno in _WRONG_FOLDER:
                    raise
                self.missing.note(mask_secrets.in_text(str(self.out)), error)
        if not self.folders:
            with self.missing.step("a temporary folder"):
                self._scratch_in(None, "beyond-ram-")

    def _scratch_in(self, folder: Path | None, prefix: str) -> None:
        self.folders = [tempfile.mkdtemp(prefix=prefix, dir=folder)]
        self.scratch = Path(self.folders[0]).absolute()

    def put(self, files: list[OutFile]) -> None:
        """Move the files into `out`; if that fails, into the folder `elsewhere`."""
        if self.out is None:
            return
        # The record of an earlier run must not remain beside samples of this one.
        with self.missing.step("the folder's earlier record"):
            (self.out / RUN_FILES[2]).unlink(missing_ok=True)
        for file in files:
            try:
                file.deliver(self.out / file.path.name)
            except Exception as error:
                with self.missing.step(file.path.name):
                    self.elsewhere = self.elsewhere or tempfile.mkdtemp(prefix="beyond-ram-kept-")
                    file.deliver(Path(self.elsewhere) / file.path.name)
                    self.missing.note(file.path.name, f"{one_line(error)}; it is in {self.elsewhere}")

    def clean_up(self) -> None:
        for folder in self.folders:
            with self.missing.step("tidying up"):
                shutil.rmtree(folder, True)
        while self._locks:
            with self.missing.step("tidying up"):
                os.close(self._locks.pop())


def foreign(out: Path) -> Path | None:
    """The first path with a run file's name that is not a file of a run; None if there is none. Skips folders."""
    paths = [path for name in RUN_FILES if (path := out / name).exists() and not path.is_dir()]
    return next((path for path in paths if not path.is_file() or not _ours(path)), None)


def _ours(path: Path) -> bool:
    """Whether a file begins as run files do, in this version or an earlier one, cut or not. Replacing an empty file
    loses nothing."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except PermissionError:
        return True  # not checked here: the delivery reports the error
    beginning = b"".join(head.split())
    return beginning.startswith(_BEGINS[path.name]) or _BEGINS[path.name].startswith(beginning)
