"""Requirements inside a Python file: inline metadata of PEP 723, as uv and pipx read it."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name as canonical

from .differences import pins
from .locks import EXACT, text_of

# The regular expression of the PEP.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


@dataclass(frozen=True)
class Inline:
    """The requirements of a script."""

    requirements: tuple[str, ...] = ()
    until: str | None = None
    """Only releases up to this time count, in the format of uv's `exclude-newer`."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Versions of a stack by package. Each stays if possible."""

    @property
    def packages(self) -> list[str]:
        """The names of the packages, in the form that indexes compare."""
        return [canonical(Requirement(line).name) for line in self.requirements]


def read(script: Path, more: Sequence[str] = (), stack: Path | None = None) -> Inline:
    """The requirements of a script, plus `more`, plus all packages in the lock of a `stack`.

    Raises ValueError if they cannot be read or contradict each other.
    """
    metadata = _metadata(script)
    if bound := metadata.get("requires-python"):
        _check_python(script, bound)
    tool = metadata.get("tool", {})
    uv = tool.get("uv", {}) if isinstance(tool, dict) else None
    if not isinstance(uv, dict):
        raise ValueError(f"{script}: '{'tool' if uv is None else 'tool.uv'}' of its metadata has to be a table")
    if left := [key for key in uv if key != "exclude-newer"]:
        # Each of them can change which packages are installed.
        raise ValueError(f"{script}: tool.uv.{left[0]} is not read here; set it in uv's own settings or environment")
    dependencies = metadata.get("dependencies", [])
    if not isinstance(dependencies, list) or not all(isinstance(one, str) for one in dependencies):
        raise ValueError(f"{script}: 'dependencies' of its metadata has to be a list of requirements")
    for one in [*dependencies, *more]:
        try:
            Requirement(one)
        except InvalidRequirement:
            raise ValueError(f"{script}: {one!r} is no requirement, such as numpy or pandas<3") from None
    until = uv.get("exclude-newer")
    pinned = pins(text_of(stack)) if stack else {}
    if stack and not pinned:
        raise ValueError(f"{stack}: pins no package; a stack is a lock of lines such as numpy==2.4.0")
    named = {canonical(Requirement(one).name) for one in more}
    others = {name: pin for name, pin in pinned.items() if name not in named}
    return Inline((*dependencies, *others, *more), None if until is None else str(until), others)


def _metadata(script: Path) -> dict[str, Any]:
    """The block `script` of a file; empty if there is none. Raises ValueError."""
    try:
        text = script.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{script}: not UTF-8, at byte {error.start}") from None
    blocks = [match for match in _BLOCK.finditer(text) if match["type"] == "script"]
    if len(blocks) > 1:
        raise ValueError(f"{script}: has {len(blocks)} blocks of inline metadata, and may have one")
    if not blocks:
        if re.search(r"(?m)^# /// script\s*$", text):
            raise ValueError(f"{script}: its inline metadata has no end: a line `# ///` behind lines that begin with #")
        return {}
    lines = blocks[0]["content"].splitlines()
    try:
        return tomllib.loads("\n".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{script}: its inline metadata is no TOML: {error}") from None


def _check_python(script: Path, bound: Any) -> None:
    try:
        fits = SpecifierSet(str(bound)).contains(EXACT, prereleases=True)
    except InvalidSpecifier:
        raise ValueError(f"{script}: requires-python {bound!r} is no bound, such as >=3.11") from None
    if not fits:
        raise ValueError(f"{script}: asks for Python {bound}, and scripts are run here by Python {EXACT}")
