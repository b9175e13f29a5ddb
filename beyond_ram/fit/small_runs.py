"""The small runs: each factor around a base, the far corner, and doubling sizes. Not the full grid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from .factors import Setting

# Sizes of the far corner: enough for two changes of slope.
_CORNER_SIZES = 3


@dataclass(frozen=True, order=True)
class DesignPoint:
    """One small run: a setting, a size of the input (None without --grow), and which run of it."""

    setting: Setting
    size: int | None
    repeat: int = 1


def base(varied: Mapping[str, Sequence[int]]) -> Setting:
    """The smallest value of each factor."""
    return tuple(values[0] for values in varied.values())


def points(varied: Mapping[str, Sequence[int]], sizes: Sequence[int]) -> list[DesignPoint]:
    """All small runs of a design, in the order in which they are run; `sizes` doubles, and is empty without --grow.

    The base has every size and a repeat. A factor's other values have the last two sizes, which give them slopes of
    their own. Two factors at their largest have the last two sizes, all factors three.
    """
    at_base, values = base(varied), list(varied.values())

    def changed(*moves: tuple[int, int]) -> Setting:
        setting = list(at_base)
        for place, value in moves:
            setting[place] = value
        return tuple(setting)

    every: Sequence[int | None] = list(sizes) or [None]
    moving = [place for place, of_factor in enumerate(values) if len(of_factor) > 1]
    corner = changed(*((place, values[place][-1]) for place in moving))
    chosen = [DesignPoint(at_base, size) for size in every] + [DesignPoint(at_base, every[-1], repeat=2)]
    for place in moving:
        for value in values[place][1:]:
            chosen += [DesignPoint(changed((place, value)), size) for size in every[-2:]]
    for one, other in combinations(moving, 2):
        both = changed((one, values[one][-1]), (other, values[other][-1]))
        chosen += [DesignPoint(both, size) for size in every[-2:]]
    chosen += [DesignPoint(corner, size) for size in every[-_CORNER_SIZES:]] if moving else []
    return list(dict.fromkeys(chosen))
