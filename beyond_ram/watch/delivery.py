"""The files of a run while it runs, and their way into the requested folder."""

import errno
import os
import shutil
import tempfile
from pathlib import Path

from .. import folders
from ..run_files import RUN_FILES
from .missing import Missing, one_line
from .outfile import OutFile

# Errors that mean a wrong folder, and no trouble of the machine: reported before anything is run.
_WRONG_FOLDER = {errno.EEXIST, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG}
# The beginning of each file, without white space.
_BEGINS = dict(zip(RUN_FILES, (b"t_s,phase,processes,", b'{"t_s":', b'{"outcome":'), strict=True))
_HEAD_BYTES = 256
# If no folder can be made, the content waits in memory.
_NOWHERE = Path(os.devnull, "none")


class Delivery:
    """The way into `out`; None where nothing is to be kept."""

    def __init__(self, out: Path | None, missing: Missing) -> None:
        self.out, self.missing = out, missing
        self.scratch = _NOWHERE
        self.folders: list[str] = []
        self._held: int | None = None

    def make_scratch(self) -> None:
        """A folder for the files during the run: in `out`, or elsewhere if `out` has no space.

        Raises OSError where `out` cannot be a folder for it, or holds files of those names that were not made here.
        """
        if self.out is not None:
            out = self.out
            if taken := self.missing.attempt("the folder's earlier files", lambda: foreign(out), None):
                why = "not made by beyond-ram, and not replaced: choose another --out"
                raise FileExistsError(errno.EEXIST, why, str(taken))
            try:
                self.out.mkdir(parents=True, exist_ok=True)
                self._scratch_in(self.out, ".watch-")
            except Exception as error:
                if isinstance(error, OSError) and error.errno in _WRONG_FOLDER:
                    raise
                self.missing.note(str(self.out), error)
        if not self.folders:
            with self.missing.step("a temporary folder"):
                self._scratch_in(None, "beyond-ram-")

    def _scratch_in(self, folder: Path | None, prefix: str) -> None:
        self.scratch, self._held = folders.make_temporary(prefix, folder)
        self.folders = [str(self.scratch)]

    def put(self, files: list[OutFile]) -> str | None:
        """Move the files into `out`; if that fails, return the folder with the files."""
        if self.out is None:
            return None
        # A record of an earlier run must not lie beside samples of this one.
        with self.missing.step("the folder's earlier record"):
            (self.out / RUN_FILES[2]).unlink(missing_ok=True)
        elsewhere: str | None = None
        for file in files:
            try:
                file.deliver(self.out / file.path.name)
            except Exception as error:
                with self.missing.step(file.path.name):
                    elsewhere = elsewhere or tempfile.mkdtemp(prefix="beyond-ram-kept-")
                    file.deliver(Path(elsewhere) / file.path.name)
                    self.missing.note(file.path.name, f"{one_line(error)}; it is in {elsewhere}")
        return elsewhere

    def clean_up(self) -> None:
        for folder in self.folders:
            with self.missing.step("tidying up"):
                shutil.rmtree(folder, True)
        if self._held is not None:
            descriptor, self._held = self._held, None
            with self.missing.step("tidying up"):
                os.close(descriptor)


def foreign(out: Path) -> Path | None:
    """Files with a run's names that are not from a run are not replaced; folders cannot be."""
    paths = [path for name in RUN_FILES if (path := out / name).exists() and not path.is_dir()]
    return next((path for path in paths if not path.is_file() or not _ours(path)), None)


def _ours(path: Path) -> bool:
    """Whether a file begins as those that are made here, in this version or an earlier one, cut or not. An empty one
    loses nothing."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except PermissionError:
        return True  # an unreadable file is not checked here; the delivery reports the error
    begins = b"".join(head.split())
    return begins.startswith(_BEGINS[path.name]) or _BEGINS[path.name].startswith(begins)
