"""Further repeats of the workflow: the cells of undecided planned questions, while a budget lasts."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from statistics import fmean

from ..analysis.decide import LOOKS
from ..analysis.frame import Key, key
from ..analysis.sequential import Open
from ..experiment import Cell
from .cells import Run
from .order import ComparedMembers, fitting, order

Runs = Mapping[Cell, Run]


def further(
    certain: Runs,
    on_disk: Collection[Cell],
    undecided: Callable[[Runs], list[Open]],
    once: Callable[[Cell, int], Runs],
    left_s: Callable[[], float],
    repeated: Collection[str],
    look: int,
    seed: int,
) -> Runs:
    """Repeat the cells of undecided questions until all is decided, nothing more fits, or the last look is over.

    Questions that need the least time come first, and their members run directly after one another. `certain` are the
    first `look` repeats, and `repeated` the experiments whose cells may have more. Those of an earlier call, `on_disk`,
    cost nothing and all count, each at the look that it was made for: so a call after a kill decides as one that was
    not disturbed. `once` makes or reads a run, given the number of undecided questions, and returns it with its rerun.
    """
    runs, blocks, costs_s = dict(certain), list[ComparedMembers[Cell]](), dict[Cell, float]()
    for number in range(look + 1, LOOKS[-1] + 1):
        if number - 1 in LOOKS:
            asked = undecided(runs)
            blocks, costs_s = _blocks([one for one in asked if one.line["experiment"] in repeated], runs)
        there = [cell for cell in on_disk if cell.rep == number]
        free = dict.fromkeys((replace(cell, rep=1) for cell in there), 0.0)
        blocks = fitting(blocks, (costs_s | free).__getitem__, left_s())
        if not blocks and not any(cell.rep >= number for cell in on_disk):
            break
        for cell in [*(replace(member, rep=number) for member in order(blocks, number, seed)), *there]:
            if cell not in runs:
                runs |= once(cell, len(asked))
    return runs


def _blocks(asked: list[Open], runs: Runs) -> tuple[list[ComparedMembers[Cell]], dict[Cell, float]]:
    """The cells of each question, those that need the least time first, and the seconds of a run of each cell."""
    cells, times = dict[Key, Cell](), dict[Cell, list[float]]()
    for cell, (record, _) in runs.items():
        cells[key(record["cell"])] = replace(cell, rep=1)
        # A further repeat is not explained again.
        alone = record["measuring_s"] - record.get("why", {}).get("measuring_s", 0)
        times.setdefault(replace(cell, rep=1), []).append(alone)
    seconds_of = {cell: fmean(spent) for cell, spent in times.items()}
    blocks = dict[tuple[Cell, ...], float]()
    for one in asked:
        if {*one.cells} <= cells.keys():
            members = tuple(cells[cell] for cell in one.cells)
            blocks.setdefault(members, one.repeats * sum(seconds_of[member] for member in members))
    return [ComparedMembers(members[1].path, members) for members in sorted(blocks, key=blocks.__getitem__)], seconds_of
