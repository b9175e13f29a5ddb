"""The picture of the first screen: which finding it shows, with which lines."""

from typing import Any

import pandas as pd

from beyond_ram.analysis.findings import Finding
from beyond_ram.analysis.findings.finding import Effect, Scope
from beyond_ram.analysis.frame import Key, key
from beyond_ram.report.first_screen import Picture, picture

CELLS: list[dict[str, Any]] = [
    {"experiment": "e", "stack": stack, "workload": "soak", "num_files": 2} for stack in ("old", "new")
]


class Runs:
    """Two runs, one per cell."""

    folders = ("one", "two")

    def __getitem__(self, place: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        peak = {"anon_bytes": 5e7, "kept": {"basis": "tree", "bytes": 5e7, "at_kept": {}}}
        record = {"completed_work": True, "peak": peak, "cell": CELLS[place], "sampler": {"samples": 2}}
        return record | {"outcome": "completed", "memory_limit_bytes": 2e8 if place else None}, []


class Samples:
    def lists(self, place: int) -> dict[str, list[float | None]]:
        return {"t_s": [0.0, 1.0], "anon_bytes": [1e6, 5e7], "shmem_bytes": [0.0, 0.0], "kept_bytes": [None, None]}


def difference(metric: str, seen: dict[str, Any]) -> Finding:
    effect = Effect(metric, 1.0, 2.0, ratio=2.0)
    line = {**seen, "axis": "stack", "before": "old", "after": "new"}
    return Finding(
        kind="difference", subject="new", baseline="old", effects=(effect,), scope=Scope("e"), strength=2, seen=(line,),
        facts={"axis": "stack", "compared": (), "packages": [], "undecided_rates": (), "likely": {}, "mixed": {}},
    )  # fmt: skip


def drawn(*findings: Finding, limits: pd.DataFrame | None = None) -> Picture | None:
    places: dict[Key, list[int]] = {key(cell): [place] for place, cell in enumerate(CELLS)}
    return picture(findings, places, Runs(), Samples(), limits)  # type: ignore[arg-type]


def test_strongest_memory_finding_is_drawn_with_both_sides_and_limits() -> None:
    shown = drawn(
        difference("tokens_per_cpu_s", CELLS[1]),
        difference("grown_anon_bytes", CELLS[1]),
        limits=pd.DataFrame([{**CELLS[0], "completed_at_bytes": 9e7}]),
    )
    assert shown
    assert shown.number == 2
    assert "old" in shown.svg
    assert "new" in shown.svg
    assert "limit of new" in shown.svg
    assert "smallest limit that completed" in shown.svg


def test_finding_without_its_runs_is_not_drawn() -> None:
    elsewhere = difference("grown_anon_bytes", {**CELLS[1], "num_files": 9})
    assert drawn(elsewhere) is None
    speed = drawn(elsewhere, difference("tokens_per_cpu_s", CELLS[1]))
    assert speed
    assert speed.number == 2


def test_version_step_is_not_drawn() -> None:
    step = Finding(
        kind="version step", subject="library 2.0", baseline="1.0",
        effects=(Effect("grown_anon_bytes", 1.0, 2.0, ratio=2.0),),
        scope=Scope("e"), strength=9, seen=(CELLS[1],),
    )  # fmt: skip
    assert drawn(step) is None
    shown = drawn(step, difference("grown_anon_bytes", CELLS[1]))
    assert shown
    assert shown.number == 2
