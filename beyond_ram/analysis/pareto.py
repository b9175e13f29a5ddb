"""Table `pareto`: which loaders are worth choosing."""

from collections.abc import Hashable
from typing import Any

import pandas as pd

from ..metrics import Records
from .decide import Question, decide, side
from .frame import Cell, axes, cells, key, same_but_for
from .loaders import AS_MANY, EVERY_ROW_ONCE, OF_A_LOADER, by_way
from .runs import runs

FIRST, WARM = "first epoch", "warm epochs"
_RATE_OF = {FIRST: "rows_per_cpu_s", WARM: "rows_per_cpu_s_warm"}
_MEMORY = "held_bytes"
# Fewer loaders than this leave nothing to choose.
_WAYS = 2
_WANTED = ["loader_kind", "shuffle", "lends", "rows_per_cpu_s", "rows_per_cpu_s_warm", "share_of_limit", _MEMORY]
_WANTED += ["end_pss_bytes", "peak_cgroup_bytes", "ranked_by", "of_loaders", "without_rate"]
_WANTED += ["faster_than", "leaner_than", "n", "chosen_for"]
COLUMNS = ["experiment", "stack", "loader", *_WANTED]


def pareto(loaders: pd.DataFrame, records: Records, comparisons: pd.DataFrame | None = None) -> pd.DataFrame:
    """The loaders on the Pareto front of rate and memory, per experiment, order, number of workers and page cache.

    Loaders are ranked by the rate of the first epoch, or of warm epochs if more loaders have one (`ranked_by`). This
    keeps loaders that read one epoch too fast for a rate. The memory is what the kernel cannot reclaim. Only loaders
    that delivered every row once in every run count, and only if there are at least two. Loaders `without_rate` are not
    ranked. The front compares means. `faster_than` and `leaner_than` count the other loaders that each one is shown to
    beat, by table `comparisons` if it has the pair.
    """
    if "held_bytes" not in loaders or "account" not in loaders:
        return pd.DataFrame(columns=COLUMNS)
    sound = loaders[loaders["account"].isin([EVERY_ROW_ONCE, AS_MANY]) & loaders[_MEMORY].notna()]
    measured = runs([run for run in records if run[0].get("workload") == "load"])
    results = _compared(comparisons)
    runs_of = {key(cell): group for cell, group in cells(measured)}
    fronts: list[dict[Hashable, Any]] = []
    questions: list[tuple[dict[Hashable, Any], str, Question]] = []
    for _, group in same_but_for(sound, *OF_A_LOADER):
        group = group.assign(way=by_way(group)["loader"])
        rates = {by: group.loc[group[rate].notna(), "way"].nunique() for by, rate in _RATE_OF.items()}
        by = max(rates, key=lambda by: rates[by])  # of equal ones the first
        if rates[by] < _WAYS:
            continue
        rated = group[group[_RATE_OF[by]].notna()]
        front = _front(rated, by, len(group) - len(rated))
        fronts += front
        for chosen in front:
            for other in rated.to_dict("records"):
                if _MEMORY in measured and any(other[name] != chosen[name] for name in OF_A_LOADER if name in other):
                    mine, theirs = (runs_of.get(key(line), measured.head(0)) for line in (chosen, other))
                    for count, metric in (("faster_than", _RATE_OF[by]), ("leaner_than", _MEMORY)):
                        winner = results.get(_pair(chosen, other, metric))
                        if winner is None:
                            question = Question(side(theirs, metric), side(mine, metric), metric)
                            questions.append((chosen, count, question))
                        else:
                            chosen[count] += winner == chosen["loader"]
    decided = decide([question for _, _, question in questions])
    for (chosen, count, _), decision in zip(questions, decided, strict=True):
        chosen[count] += decision.result == "better"
    table = pd.DataFrame(fronts)
    return table[[*axes(table), *_WANTED]] if len(table) else pd.DataFrame(columns=COLUMNS)


def unranked(loaders: pd.DataFrame, pareto: pd.DataFrame) -> list[tuple[Cell, str]]:
    """The conditions under which loaders ran but none could be chosen, each with the reason."""
    if "held_bytes" not in loaders or "account" not in loaders:
        return []
    ranked = {key(cell) for cell, _ in same_but_for(pareto, *OF_A_LOADER)} if len(pareto) else set()
    cells = []
    ran = loaders[loaders["outcome"] != "not_applicable"]
    for cell, group in same_but_for(by_way(ran), *OF_A_LOADER):
        if key(cell) not in ranked:
            sound = group["account"].isin([EVERY_ROW_ONCE, AS_MANY])
            rated = max(group.loc[sound & group[rate].notna(), "loader"].nunique() for rate in _RATE_OF.values())
            right, ways = group.loc[sound, "loader"].nunique(), group["loader"].nunique()
            cells.append((cell, f"{right} of {ways} loaders delivered every row once, {rated} of them with a rate"))
    return cells


def _compared(comparisons: pd.DataFrame | None) -> dict[Hashable, str]:
    """The better of two loaders by table `comparisons`; empty if neither is."""
    if comparisons is None or comparisons.empty or "loader" not in comparisons:
        return {}
    lines = comparisons[comparisons["axis"] == "loader"].to_dict("records")
    return {
        _pair(line | {"loader": line["before"]}, line | {"loader": line["after"]}, line["metric"]): ""
        if line["result"] not in ("better", "worse")
        else line["after"]
        if line["result"] == "better"
        else line["before"]
        for line in lines
    }


def _pair(one: dict[Hashable, Any], other: dict[Hashable, Any], metric: str) -> Hashable:
    """The key of two cells that differ only in the loader."""
    return metric, frozenset((key(one), key(other)))


def _front(rated: pd.DataFrame, by: str, without: int) -> list[dict[Hashable, Any]]:
    """The loaders that no other beats in both rate and memory, with the reason to choose each."""
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
