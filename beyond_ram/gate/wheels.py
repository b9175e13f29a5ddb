"""Requirements of pip as lines of a lock; anything but a release is first built into a wheel."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import mask_secrets
from ..stacks.differences import canonical
from ..stacks.locks import StackError, uv

_VERSION = r"(===|==|!=|~=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_MARKER = r"\s*;((?!\s-)[^\n#])+"  # no option of a line of requirements, as --hash
_RELEASE = re.compile(
    rf"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^]\n]*\])?\s*({_VERSION}(\s*,\s*{_VERSION})*)?({_MARKER})?\s*"
)
_NAMED = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*(\[[^]]*\])?\s*@")
_WHEEL = re.compile(r"([A-Za-z0-9._]+)-([^-]+)(-[^-]+)?-[^-]+-[^-]+-[^-]+\.whl")


@dataclass(frozen=True)
class Requirement:
    """A requirement as given, and its line in a lock."""

    asked: str
    package: str
    """Its name as indexes compare it."""
    line: str
    """A version, or the address of the wheel."""
    sha256: str | None = None
    """Of the wheel, as below; None for a release of an index."""
    version: str | None = None
    wheel: Path | None = None

    @property
    def content(self) -> str:
        """What it asks for: the line, or a digest of the files in the wheel, without their times."""
        if self.wheel is None:
            return self.line
        with zipfile.ZipFile(self.wheel) as archive:
            files = sorted((entry.filename, entry.CRC, entry.file_size) for entry in archive.infolist())
        return f"{self.package} {hashlib.sha256(repr(files).encode()).hexdigest()}"

    def kept(self, wheels: Path) -> "Requirement":
        """The same, with its wheel in another folder."""
        return _of_wheel(self.asked, self.wheel, wheels) if self.wheel else self


def requirement(asked: str, wheels: Path) -> Requirement:
    """Read a requirement. Wheels, taken or built, go below the folder `wheels`, each by its hash.

    A local checkout, an archive or an address is built by pip with its own configuration. Raises StackError with pip's
    reason, ValueError for what is no requirement.
    """
    release = _RELEASE.fullmatch(asked)
    source, asked, place = asked, asked if release else mask_secrets.in_text(asked), Path(asked)
    if asked.lstrip().startswith("-") or not asked.isprintable():
        raise ValueError(f"{asked!r} is no requirement: NAME==VERSION, a wheel, a folder or an address is")
    if "://" in asked:
        # Older releases of pip refuse `NAME @` before some addresses; the name is the wheel's.
        return _built(asked, source.partition("@")[2].strip() if _NAMED.match(source) else source, wheels)
    if place.suffix == ".whl" or place.is_dir() or (place.is_file() and place.suffix in (".gz", ".zip")):
        if not place.exists():
            raise ValueError(f"there is no wheel {asked}")
        wheel = place.resolve() if place.suffix == ".whl" else None
        return _of_wheel(asked, wheel, wheels) if wheel else _built(asked, str(place.resolve()), wheels)
    if not release:
        if os.sep in asked:
            if place.exists():
                raise ValueError(f"{asked} is no requirement: NAME==VERSION, a wheel, a folder or an address is")
            raise ValueError(f"there is no file or folder {asked}")
        raise ValueError(f"{asked!r} is no requirement: NAME==VERSION, a wheel, a folder or an address is")
    return Requirement(asked, canonical(release[1]), asked.strip())


def _built(asked: str, source: str, wheels: Path) -> Requirement:
    wheels.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheels) as folder:
        errors = mask_secrets.in_text(_pip("wheel", "--quiet", "--no-deps", f"--wheel-dir={folder}", source))
        made = list(Path(folder).glob("*.whl"))
        if len(made) != 1:
            raise StackError(f"{asked}: cannot be built\n{errors}")
        return _of_wheel(asked, made[0], wheels)


def _pip(*words: str) -> str:
    """Run pip with the user's configuration of indexes, and return its errors."""
    errors = ""
    for command in ([getattr(sys, "_base_executable", sys.executable), "-m", "pip"], [uv(), "tool", "run", "pip"]):
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
        if not done.returncode:
            return ""
        if "No module named pip" not in done.stderr:
            return done.stderr.strip()
        errors = done.stderr.strip()
    return errors


def _of_wheel(asked: str, wheel: Path, wheels: Path) -> Requirement:
    name = _WHEEL.fullmatch(wheel.name)
    if not name:
        raise ValueError(f"{asked}: {wheel.name} is no name of a wheel")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    kept = wheels.resolve() / digest[:16] / wheel.name
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel, kept)
    package = canonical(name[1])
    return Requirement(asked, package, f"{package} @ {kept.as_uri()}", digest, name[2], kept)


def requirements(asked: Sequence[str], wheels: Path) -> list[Requirement]:
    """Read the requirements of one side. Raises ValueError where two are of one package."""
    requirements = [requirement(one, wheels) for one in asked]
    names = [one.package for one in requirements]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)}: asked for twice on one side")
    return requirements
