"""Requirements of pip as lines of a lock; anything but a release is first built into a wheel."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging import requirements as requirements_of_pip
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.utils import canonicalize_name as canonical

from .. import mask_secrets
from ..files import write
from ..stacks.locks import StackError, uv


@dataclass(frozen=True)
class Requirement:
    """A requirement as given, and its line in a lock."""

    text: str
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

    def copied_to(self, wheels: Path) -> "Requirement":
        """The same, with its wheel in another folder. A wheel that an earlier call has copied there stays."""
        if not self.wheel:
            return self
        earlier = wheels / self.wheel.name
        return _of_wheel(self.text, earlier if earlier.exists() else self.wheel, wheels)


def requirement(text: str, wheels: Path) -> Requirement:
    """Read a requirement. Wheels, taken or built, go into the folder `wheels`.

    A local checkout, an archive or an address is built by pip with its own configuration. Raises StackError with pip's
    reason, ValueError for what is no requirement.
    """
    named = _parsed(text)
    source, text, place = text, text if named and not named.url else mask_secrets.in_text(text), Path(text)
    refused = f"{text!r} is no requirement: NAME==VERSION, a wheel, a folder or an address is"
    if text.lstrip().startswith("-") or not text.isprintable():
        raise ValueError(refused)
    if "://" in text:
        # Older releases of pip refuse `NAME @` before some addresses; the name is the wheel's.
        return _built(text, named.url if named and named.url else source, wheels)
    if place.suffix == ".whl" or place.is_dir() or (place.is_file() and place.suffix in (".gz", ".zip")):
        if not place.exists():
            raise ValueError(f"there is no wheel {text}")
        wheel = place.resolve() if place.suffix == ".whl" else None
        return _of_wheel(text, wheel, wheels) if wheel else _built(text, str(place.resolve()), wheels)
    if not named or named.url:
        raise ValueError(refused if os.sep not in text or place.exists() else f"there is no file or folder {text}")
    return Requirement(text, canonical(named.name), text.strip())


def _parsed(text: str) -> requirements_of_pip.Requirement | None:
    """A requirement by name; None for what is another one, or none."""
    try:
        return requirements_of_pip.Requirement(text)
    except requirements_of_pip.InvalidRequirement:
        return None


def _built(text: str, source: str, wheels: Path) -> Requirement:
    wheels.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheels) as folder:
        errors = mask_secrets.in_text(_pip("wheel", "--quiet", "--no-deps", f"--wheel-dir={folder}", source))
        made = list(Path(folder).glob("*.whl"))
        if len(made) != 1:
            raise StackError(f"{text}: cannot be built\n{errors}")
        return _of_wheel(text, made[0], wheels)


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


def _of_wheel(text: str, wheel: Path, wheels: Path) -> Requirement:
    try:
        package, version, *_ = parse_wheel_filename(wheel.name)
    except InvalidWheelFilename:
        raise ValueError(f"{text}: {wheel.name} is no name of a wheel") from None
    content = wheel.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    copy = wheels.resolve() / wheel.name
    if wheel != copy:
        copy.parent.mkdir(parents=True, exist_ok=True)
        write(copy, content)
    return Requirement(text, package, f"{package} @ {copy.as_uri()}", digest, str(version), copy)


def requirements(texts: Sequence[str], wheels: Path) -> list[Requirement]:
    """Read the requirements of one side. Raises ValueError where two are of one package."""
    requirements = [requirement(one, wheels) for one in texts]
    names = [one.package for one in requirements]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)}: asked for twice on one side")
    return requirements
