"""Table `choices`: which loaders are worth choosing."""

from collections.abc import Hashable
from typing import Any

import pandas as pd

from ..metrics import Records
from .decide import Question, decide, side
from .frame import axes, same_but_for
from .loaders import AS_MANY, EVERY_ROW_ONCE, OF_A_LOADER, by_way
from .runs import runs

FIRST, WARM = "first epoch", "warm epochs"
_RATE_OF = {FIRST: "rows_per_cpu_s", WARM: "rows_per_cpu_s_warm"}
_MEMORY = "held_bytes"
_WANTED = ["loader_kind", "shuffle", "lends", "rows_per_cpu_s", "rows_per_cpu_s_warm", "share_of_limit", _MEMORY]
_WANTED += ["end_pss_bytes", "ranked_by", "of_loaders", "without_rate", "faster_than", "leaner_than", "n", "chosen_for"]
COLUMNS = ["experiment", "stack", "loader", *_WANTED]


def choices(loaders: pd.DataFrame, records: Records) -> pd.DataFrame:
    """The loaders on the Pareto front of rate against memory, per experiment, order, worker count and page cache.

    The rate is that of the first epoch, or where fewer than two have one, that of the warm ones (`ranked_by`). The
    memory is what cannot be taken back. Only loaders that delivered every row once in every run stand in it, and only
    where there were two to choose from; those `without_rate` are not ranked. The front is of means: `faster_than` and
    `leaner_than` say than how many of the others each is shown to be so.
    """
    if "held_bytes" not in loaders or "account" not in loaders:
        return pd.DataFrame(columns=COLUMNS)
    sound = loaders[loaders["account"].isin([EVERY_ROW_ONCE, AS_MANY]) & loaders[_MEMORY].notna()]
    measured = runs([run for run in records if run[0].get("workload") == "load"])
    fronts: list[dict[Hashable, Any]] = []
    questions: list[tuple[dict[Hashable, Any], str, Question]] = []
    for _, group in same_but_for(sound, *OF_A_LOADER):
        group = group.assign(way=by_way(group)["loader"])
        by = next((by for by, rate in _RATE_OF.items() if group.loc[group[rate].notna(), "way"].nunique() > 1), None)
        if by is None:
            continue
        rated = group[group[_RATE_OF[by]].notna()]
        front = _front(rated, by, len(group) - len(rated))
        fronts += front
        for chosen in front:
            for other in rated.to_dict("records"):
                if _MEMORY in measured and any(other[name] != chosen[name] for name in OF_A_LOADER if name in other):
                    mine, theirs = (_runs_of(measured, line, rated) for line in (chosen, other))
                    for count, metric in (("faster_than", _RATE_OF[by]), ("leaner_than", _MEMORY)):
                        question = Question(side(theirs, metric), side(mine, metric), metric)
                        questions.append((chosen, count, question))
    decided = decide([question for _, _, question in questions])
    for (chosen, count, _), decision in zip(questions, decided, strict=True):
        chosen[count] += decision.verdict == "better" and decision.matters
    found = pd.DataFrame(fronts)
    return found[[*axes(found), *_WANTED]] if len(found) else pd.DataFrame(columns=COLUMNS)


def _front(rated: pd.DataFrame, by: str, without: int) -> list[dict[Hashable, Any]]:
    """Whom no other beats in both, with what makes each worth choosing."""
    rate, least, front = _RATE_OF[by], float("inf"), []
    for line in rated.sort_values([rate, _MEMORY], ascending=[False, True]).to_dict("records"):
        if line[_MEMORY] < least:
            least = line[_MEMORY]
            front.append(line)
    for line in front:
        words = [
            *(["most rows per CPU-second"] if line is front[0] else []),
            *(["least memory"] if line is front[-1] else []),
        ]
        line |= {"ranked_by": by, "of_loaders": len(rated), "without_rate": without}
        line |= {"faster_than": 0, "leaner_than": 0}
        line["chosen_for"] = " and ".join(words) or "no other is both faster and leaner"
    return front


def _runs_of(measured: pd.DataFrame, line: dict[Hashable, Any], table: pd.DataFrame) -> pd.DataFrame:
    """The runs of a line's cell."""
    known = [axis for axis in axes(table) if axis in measured]
    same = [measured[axis].eq(line[axis]) | (measured[axis].isna() & pd.isna(line[axis])) for axis in known]
    return measured[pd.concat(same, axis=1).all(axis=1)] if len(measured) else measured
