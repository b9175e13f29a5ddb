"""The cases: a folder of scripts. The first requirement of a script is the library whose releases vary."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..shipped import FILES
from ..stacks.inline import Inline, read
from ..text import did_you_mean

FOLDER = FILES / "cases" / "atlas"
"""The shipped cases."""


@dataclass(frozen=True)
class Case:
    """A script of the folder."""

    script: Path
    inline: Inline
    title: str
    """The first line of its docstring."""

    @property
    def name(self) -> str:
        return self.script.stem

    @property
    def library(self) -> str:
        return self.inline.packages[0]

    @property
    def folder(self) -> str:
        """Its requirements as a folder name. Cases with the same requirements share locks and environments."""
        rest = sorted(requirement.replace(" ", "") for requirement in self.inline.requirements[1:])
        until = [self.inline.until] if self.inline.until else []
        return "+".join("".join(c if c.isalnum() or c in "._-" else "_" for c in one)
                        for one in [self.inline.requirements[0], *rest, *until])  # fmt: skip


def cases(folder: Path, libraries: Sequence[str] = ()) -> list[Case]:
    """The cases of a folder, limited to some libraries if any are given. Raises ValueError."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    every = [_case(script) for script in sorted(folder.glob("*.py"))]
    if not every:
        raise ValueError(f"{folder}: holds no script; a case is a file NAME.py with inline metadata (PEP 723)")
    existing = {case.library for case in every}
    if unknown := next((name for name in libraries if name not in existing), None):
        hint = did_you_mean(unknown, existing)
        raise ValueError(f"--library {unknown!r}: no case has it{hint} (there are {', '.join(sorted(existing))})")
    return [case for case in every if not libraries or case.library in libraries]


def _case(script: Path) -> Case:
    inline = read(script)
    if not inline.requirements:
        raise ValueError(f"{script}: its inline metadata has no 'dependencies'; the first is the library to vary")
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8-sig"), str(script))) or ""
    return Case(script.absolute(), inline, (text.splitlines() or [script.stem.replace("_", " ")])[0])
