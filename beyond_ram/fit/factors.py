"""Settings with their values, the growing input size, and the command that takes them."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kMG]?)")
_TIMES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_NAME = re.compile(r"[A-Za-z]\w*")
_PLACE = re.compile(r"\{([A-Za-z]\w*)\}")

Setting = tuple[int, ...]
"""A value of each varied factor, in their order."""


@dataclass(frozen=True)
class InputGrowth:
    """The size of the input: from the smallest run to the target."""

    name: str
    first: int
    target: int

    @property
    def sizes(self) -> list[int]:
        """The target halved again and again, down to the first size, from small to large.

        So a table that doubles when it is full is as full in each small run as at the target.
        """
        halvings = math.ceil(math.log2(self.target / self.first))
        return [math.ceil(self.target / 2**times) for times in range(halvings, -1, -1)]


@dataclass(frozen=True)
class FactorPlan:
    """A command with the factors in it."""

    command: tuple[str, ...]
    varied: Mapping[str, tuple[int, ...]]
    """The values of each factor, from small to large."""
    growth: InputGrowth | None

    def words(self, setting: Setting, size: int | None) -> list[str]:
        """The command of one run."""
        values = self.values(setting, size)
        return [_PLACE.sub(lambda place: str(values.get(place[1], place[0])), word) for word in self.command]

    def values(self, setting: Setting, size: int | None) -> dict[str, int]:
        values = dict(zip(self.varied, setting, strict=True))
        return values | ({self.growth.name: size} if self.growth and size is not None else {})


def plan(command: Sequence[str], vary: Sequence[str], grow: Sequence[str]) -> FactorPlan:
    """Read `NAME=V,V…` and `NAME=A..B`. Raises ValueError, in one line, for what does not go together."""
    if not command:
        raise ValueError("which program? beyond-ram fit --memory SIZE --vary NAME=V,V -- COMMAND with {NAME}")
    if len(grow) > 1:
        raise ValueError(f"--grow {grow[1]}: one size can grow; vary the others with --vary")
    varied: dict[str, tuple[int, ...]] = {}
    for text in vary:
        name, values = _named(text, "--vary", "workers=0,2,4")
        if name in varied:
            raise ValueError(f"--vary {text}: {name} is named twice; list all its values in one --vary")
        varied[name] = tuple(sorted({number(value, f"--vary {text}") for value in values.split(",")}))
    growth = _growth(grow[0]) if grow else None
    if growth and growth.name in varied:
        raise ValueError(f"{growth.name} is in --vary and in --grow; name it in one of them")
    names = [*varied, *([growth.name] if growth else [])]
    if not names:
        raise ValueError("what may vary? name it with --vary NAME=V,V or --grow NAME=A..B")
    _check_places(command, names)
    return FactorPlan(tuple(command), varied, growth)


def number(text: str, where: str) -> int:
    """A whole number; k, M and G are powers of 1000. Raises ValueError."""
    match = _NUMBER.fullmatch(text.strip())
    value = float(match[1]) * _TIMES[match[2]] if match else 0.5
    if value != int(value):
        hint = "; for words, run fit once with each" if text.strip().isalpha() else ""
        raise ValueError(f"{where}: {text!r} is no whole number, such as 16, 100k or 2.5M{hint}")
    return int(value)


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not equals or not _NAME.fullmatch(name) or not values:
        raise ValueError(f"{option} {text}: write it as {example}")
    return name, values


def _growth(text: str) -> InputGrowth:
    name, values = _named(text, "--grow", "rows=100k..50M")
    first, dots, target = values.partition("..")
    if not dots:
        raise ValueError(f"--grow {text}: write it as rows=100k..50M")
    growth = InputGrowth(name, number(first, f"--grow {text}"), number(target, f"--grow {text}"))
    if not 0 < growth.first < growth.target:
        raise ValueError(f"--grow {text}: the first size must be above 0 and below the second")
    return growth


def _check_places(command: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError where a factor has no place in the command, or a place no factor."""
    places = {place for word in command for place in _PLACE.findall(word)}
    for name in names:
        if name not in places:
            raise ValueError(f"the command does not use {{{name}}}: put it where the program takes {name}")
    # Braces in a word with spaces may be a script's own.
    for place in [place for word in command if not re.search(r"\s", word) for place in _PLACE.findall(word)]:
        if place not in names:
            raise ValueError(f"the command has {{{place}}}, which no --vary or --grow names")
