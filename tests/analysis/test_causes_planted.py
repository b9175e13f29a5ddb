"""Verdicts on programs with a known owner of memory: all right, none confident and wrong."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.analysis.causes import judge
from beyond_ram.analysis.owners import owners
from beyond_ram.experiment.events import faults
from beyond_ram.watch import watch

PROGRAM = Path(__file__).with_name("planted.py")
MB = 1_000_000
SIZE = 40
# Expected verdicts after one epoch and after six. `undecided` only where the evidence allows no more: a leak and a
# one-time cost look alike until the work is repeated, and undeclared objects have no name.
TRUTH = {
    "flat": (("flat", ""), ("flat", "")),
    "list": (("held", "list"), ("held", "list")),
    "cache": (("held", "caches of modules"), ("held", "caches of modules")),
    "garbage": (("held", "garbage"), ("held", "garbage")),
    "hidden": (("undecided", ""), ("undecided", "")),
    "c-leak": (("undecided", ""), ("leak", "memory outside Python's objects")),
    "c-once": (("undecided", ""), ("held", "native code, taken once")),
    "fragmentation": (("retained", "allocator (fragments)"), ("undecided", "")),
    "arrow-pool": (("retained", "arrow pool"), ("retained", "arrow pool")),
    "mapped-file": (("page-cache", "mapped files"), ("page-cache", "mapped files")),
}
Run = tuple[dict[str, Any], list[dict[str, Any]]]


def planted(case: str, epochs: int, folder: Path, rep: int = 1) -> Run:
    (folder / "work").mkdir(parents=True)
    command = [sys.executable, str(PROGRAM), "--work-dir", str(folder / "work"), "--case", case]
    record = watch([*command, "--size-mb", str(SIZE), "--epochs", str(epochs)], folder / "out")
    assert record["exit_status"] == 0
    record["cell"] = {"experiment": "planted", "stack": "driver", "case": case, "epochs": epochs, "rep": rep}
    lines = (folder / "out" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert not [fault for event in events for fault in faults(event)]
    return record, events


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [1, 6])
@pytest.mark.parametrize("case", TRUTH)
def test_the_planted_owner_is_found(case: str, epochs: int, tmp_path: Path) -> None:
    # Regrowth is decided over runs.
    runs = [planted(case, epochs, tmp_path / str(rep), rep) for rep in ((1, 2) if epochs > 1 else (1,))]
    run, cause = runs[0], judge(runs)
    assert (cause.verdict, cause.owner) == TRUTH[case][epochs > 1], cause
    assert cause.sentence
    assert cause.evidence
    shares = owners([run]).groupby("owner")["anon_released_bytes"].sum()
    grown = owners([run])["anon_grown_bytes"].iloc[0]
    assert shares.sum() == pytest.approx(grown), "released memory and residue add up to the growth"


@pytest.mark.slow
def test_owner_releases_its_whole_size(tmp_path: Path) -> None:
    table = owners([planted("list", 1, tmp_path)]).set_index("owner")
    assert table.loc["list", "anon_released_bytes"] == pytest.approx(SIZE * MB, rel=0.1)
    assert table.loc["residue", "anon_released_bytes"] == pytest.approx(0, abs=1 * MB)
