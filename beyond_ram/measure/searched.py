"""What a search over releases has found: its steps, and what the runs of each release were like."""

import functools
import re
import statistics
from dataclasses import dataclass

from packaging.utils import canonicalize_name as canonical

from ..metrics import METRICS
from ..stacks import differences
from .plan import NOT_INSTALLABLE, Run
from .releases import Ladder
from .screen import ANSWER, OUTCOME, Step
from .search import Search

NAMES = {
    "end_kept_bytes": "kept at the end", "peak_kept_bytes": "peak of kept memory",
    "end_anon_bytes": "heap at the end", "peak_anon_upper_bound_bytes": "peak heap",
    "grown_between_marks_bytes": "growth between marks", "duration_s": "wall clock", "cpu_s": "CPU time",
    "written_bytes": "written to disk", "hwm_sum_bytes": "high-water mark", OUTCOME: "outcome", ANSWER: "answer",
}  # fmt: skip
"""How metrics are called here; others by their label."""
_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


@dataclass(frozen=True)
class Searched:
    """A finished search over the releases of a package."""

    search: Search
    ladder: Ladder

    @property
    def package(self) -> str:
        return self.ladder.releases.package

    @functools.cached_property
    def steps(self) -> list[Step]:
        return self.search.steps()

    @functools.cached_property
    def runs(self) -> dict[str, list[Run]]:
        """The runs of each release that ran."""
        runs: dict[str, list[Run]] = {}
        for run in self.ladder.campaign.runs:
            if run.outcome != NOT_INSTALLABLE:
                runs.setdefault(run.member.side, []).append(run)
        order = [*self.ladder.releases.versions, *runs]
        return dict(sorted(runs.items(), key=lambda one: order.index(one[0])))

    def outcome(self, version: str) -> str:
        """How the runs of a release ended."""
        return " or ".join(sorted({run.outcome for run in self.runs[version]}))

    def answers(self, version: str) -> list[str]:
        """The different answers of a release."""
        return sorted({run.answer for run in self.runs.get(version, ()) if run.answer})

    def values(self, version: str) -> dict[str, float]:
        """The median of each metric that runs of a release have."""
        runs = self.runs.get(version, ())
        readings = {name: [run.values[name] for run in runs if name in run.values] for name in self.search.metrics}
        return {name: statistics.median(of) for name, of in readings.items() if of}

    def moved_between(self, first: str, second: str) -> str:
        """What beside the package differs between the locks of two releases."""
        locks = self.ladder.locks
        if first not in locks or second not in locks:
            return ""
        return differences.changed_pins(locks[first].pins, locks[second].pins, {canonical(self.package)})


def name_of(metric: str) -> str:
    """What a metric, the outcome or the answer is called."""
    return NAMES.get(metric) or METRICS[metric].label


def shortened(text: str) -> str:
    """A text with the starts of the hashes in it."""
    return _HASH.sub(r"\1", text)
