"""Table `choices`: which loaders are worth choosing."""

import math

import pandas as pd

from .frame import axes, same_but_for
from .loaders import AS_MANY, EVERY_ROW_ONCE, OF_A_LOADER, by_way


def choices(loaders: pd.DataFrame) -> pd.DataFrame:
    """The loaders on the Pareto front of rate against PSS, per experiment, order, worker count and page cache.

    Only loaders that delivered every row once stand in it, and only where there were two to choose from. `chosen_for`
    says what makes each worth choosing.
    """
    if "account" not in loaders:
        return pd.DataFrame(columns=["experiment", "stack", "loader", "chosen_for"])
    sound = loaders[loaders["account"].isin([EVERY_ROW_ONCE, AS_MANY]) & loaders["end_pss_bytes"].notna()]
    fronts = []
    for cell, group in same_but_for(sound, *OF_A_LOADER):
        if by_way(group)["loader"].nunique() < 2:
            continue
        ordered, least = group.sort_values("rows_per_cpu_s", ascending=False), math.inf
        for line in ordered.to_dict("records"):
            if line["end_pss_bytes"] < least:
                least = line["end_pss_bytes"]
                fronts.append(line | {"of_loaders": len(group), "front": tuple(cell.values())})
    found = pd.DataFrame(fronts)
    if found.empty:
        return pd.DataFrame(columns=["experiment", "stack", "loader", "chosen_for"])
    fastest = found.groupby("front")["rows_per_cpu_s"].transform("max")
    leanest = found.groupby("front")["end_pss_bytes"].transform("min")
    found["chosen_for"] = [
        " and ".join(
            [*(["most rows per CPU-second"] if rate == most else []), *(["least memory"] if pss == least else [])]
        )
        or "no other is both faster and leaner"
        for rate, most, pss, least in zip(
            found["rows_per_cpu_s"], fastest, found["end_pss_bytes"], leanest, strict=True
        )
    ]
    wanted = ["loader_kind", "shuffle", "rows_per_cpu_s", "share_of_limit", "end_pss_bytes"]
    return found[[*axes(found), *wanted, "of_loaders", "n", "chosen_for"]]
