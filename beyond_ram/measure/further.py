"""Further repeats of the workflow: the policy that names the cells of undecided planned questions."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise
from statistics import fmean

from ..analysis.decide import LOOKS
from ..analysis.frame import Key
from ..analysis.sequential import Open
from ..experiment import Cell
from ..records.tables import RunFiles
from .order import ComparedMembers, order
from .plan import Block, Member, Run


def member_of(cell: Cell) -> Member:
    """A cell at any repeat."""
    return Member(cell.experiment, ", ".join(f"{axis} {value}" for axis, value in cell.axes))


def run_of(cell: Cell, read: RunFiles, block: str = "") -> Run:
    """A run of a cell as the campaign keeps it. It takes the time of a further repeat, which is not explained again."""
    record, _ = read
    began = record.get("started_at") or 0.0
    alone_s = record["measuring_s"] - record.get("why", {}).get("measuring_s", 0)
    return Run(member_of(cell), cell.rep, block, str(record["outcome"]), started_at=began, ended_at=began + alone_s,
               folder=cell.path)  # fmt: skip


class FurtherPolicy:
    """The policy: one more repeat of the cells of an open question, up to the next look, at which it is asked again.

    The question with the fewest repeats comes first, and of these the one that needs the least time. Its block has the
    runs that are not there: those that another question shares, and those that an earlier call has made, count. The
    runs that it gets have the first `look` repeats of each cell too. `undecided` are the open questions of some runs,
    and `members` the cells that may be repeated.
    """

    def __init__(
        self, undecided: Callable[[Sequence[Run]], Sequence[Open]], members: Mapping[Key, Member], look: int, seed: int
    ) -> None:
        self._undecided, self._members, self._seed = undecided, members, seed
        self._looks = [one for one in LOOKS if one >= look]
        self._open: dict[tuple[int, int], list[tuple[Member, ...]]] = {}

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The next repeat of each open question; the later ones are for where the first does not fit."""
        there = {(run.member, run.number) for run in runs}
        waiting = list[tuple[int, tuple[Member, ...]]]()
        for begin, end in pairwise(self._looks):
            for members in self._open_after(begin, runs):
                number = min(next(n for n in count(1) if (member, n) not in there) for member in members)
                waiting += [(number, members)] if begin < number <= end else []
        blocks = list[Block]()
        for number, members in sorted(waiting, key=lambda one: one[0]):
            turns = order([ComparedMembers(members[1].side, members)], number, self._seed)
            missing = tuple(member for member in turns if (member, number) not in there)
            blocks.append(Block(f"further repeat {number}", missing, ask_again=True))
        return blocks

    def _open_after(self, look: int, runs: Sequence[Run]) -> list[tuple[Member, ...]]:
        """The cells of each question that is open after some repeats; those that need the least time first."""
        looked_at = [run for run in runs if run.number <= look]
        if max((run.number for run in looked_at), default=0) < look:
            return []
        if (look, len(looked_at)) not in self._open:
            times_s = dict[Member, list[float]]()
            for run in looked_at:
                times_s.setdefault(run.member, []).append(run.ended_at - run.started_at)
            needed_s = dict[tuple[Member, ...], float]()
            for one in self._undecided(looked_at):
                if {*one.cells} <= self._members.keys():
                    members = tuple(self._members[cell] for cell in one.cells)
                    needed_s.setdefault(members, one.repeats * sum(fmean(times_s[member]) for member in members))
            self._open[look, len(looked_at)] = sorted(needed_s, key=needed_s.__getitem__)
        return self._open[look, len(looked_at)]
