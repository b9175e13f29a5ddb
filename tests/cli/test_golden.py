"""What commands print, from saved runs and made-up results, as on its golden pages.

`BEYOND_RAM_GOLDEN=1 uv run pytest tests/cli/test_golden.py` renews the pages: read the diff.
"""

import shlex
from pathlib import Path

import pandas as pd
import pytest

from beyond_ram.analysis.changes import changes
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.atlas import compare as atlas_compare
from beyond_ram.cli import limit, main, why
from beyond_ram.fit.answer import text
from beyond_ram.report.changes import ComparedSides
from beyond_ram.stacks.differences import Difference

from ..analysis.test_comparisons import runs
from ..atlas.test_compare import write_tables
from ..bisect.test_result import result, runs_of
from ..conftest import assert_golden
from ..fit.test_answer import fit, linear
from ..gate.test_result import SAME, gate

GOLDEN = Path(__file__).with_name("golden")
MB = 1e6
COMMANDS = {
    "show": "show runs/completed",
    "show-killed": "show runs/killed",
    "show-two": "show runs/completed runs/killed",
    "job": "job 7 --record runs/completed",
    "job-killed": "job 7 --record runs/killed",
}


def limited(folder, monkeypatch):
    probe = {"limit_bytes": 104 * MB, "duration_s": 1.5, "from_cache_bytes": 0, "read_bytes": 24 * MB}
    whole = {
        "completed_at_bytes": 104 * MB, "killed_at_bytes": 101 * MB, "timed_out_at_bytes": None, "completed_runs": 3,
        "request_bytes": 90 * MB, "probes": [probe] * 3, "speed_share": 0.9, "speed_kept_at_bytes": 120 * MB,
        "speed_probes": [1, 2],
    }  # fmt: skip
    free = {"duration_s": 1.25, "completed_work": True}
    warm = {"speed_kept_at_bytes": None, "probes": [probe | {"from_cache_bytes": 48 * MB}], "completed_runs": 1}
    others = ({"not_run": "no memory group"}, {"out_of_budget": True}, {"probes": []})
    return [limit._lines(one, free) for one in (whole, whole | warm, *others)]


def holders(folder, monkeypatch):
    steps = [
        {"kind": "name", "holder": "rows", "type": "list", "released_bytes": 60 * MB, "also_held_by": ["cache"]},
        {"kind": "garbage", "holder": "Node", "released_bytes": 12 * MB},
        {"kind": "allocator", "holder": "pyarrow's pool", "released_bytes": 9 * MB},
        {"kind": "others", "holder": "others", "released_bytes": 1 * MB},
    ]
    sites = {"stayed": [{"bytes": 30 * MB, "calls": ["load (/home/me/case.py:3)", "main (/home/me/case.py:9)"]}]}
    whole = {
        "error": None, "end_bytes": 150 * MB, "start_bytes": 5 * MB, "imports_bytes": 20 * MB, "steps": steps,
        "stayed_bytes": 60 * MB, "floor_bytes": 1 * MB, "threads": 1, "peak_bytes": 250 * MB, "sites": sites,
        "processes": [{"private_bytes": 7 * MB, "pid": 9, "name": "worker"}],
    }  # fmt: skip
    failed = whole | {"error": "No module named 'absent'", "sites": {}, "threads": 0, "processes": []}
    return [why.lines("case.py", one) for one in (whole, failed)]


def locks(folder, monkeypatch):
    write_tables(folder)
    (folder / "mine.txt").write_text("one==1.0\ntwo==3.1\nother==7\n")
    (folder / "theirs.txt").write_text("one==1.5\ntwo==7.0\nother==8\n")
    paths = [str(folder / name) for name in ("mine.txt", "theirs.txt")]
    return [atlas_compare.lines(atlas_compare.compare(*pair, folder)) for pair in (paths, paths[::-1])]


def compared(folder, monkeypatch):
    cells = [
        runs(stack=stack, grown=grown, num_files=files)
        for files, sizes in enumerate(((100, 400), (400, 100), (100, 100)), 1)
        for stack, grown in zip(("old", "new"), sizes, strict=True)
    ]
    table = changes(comparisons(pd.DataFrame([line for lines in cells for line in lines]), [("old", "new")]))
    packages = {("old", "new"): [Difference("datasets", "1.0", "2.0")]}
    return [ComparedSides(table, packages, ["1 cell that only old has"], folder).text()]


def searched(folder, monkeypatch):
    same, step = ({"peak_kept_bytes": (3e8, 3e8), "end_kept_bytes": sizes} for sizes in ((1e8, 1e8), (1e8, 2e8)))
    return [result(folder, runs_of(**values)).lines() for values in (step, same)]


def fitted(folder, monkeypatch):
    return [text(fit(linear, monkeypatch, memory_bytes=size)) for size in (10**9, 10**8)]


def gated(folder, monkeypatch):
    cells = gate((SAME, SAME), (SAME, SAME | {"grown": 150.0}), (SAME, SAME | {"grown": 80.0}))
    return [cells.lines(), [cells.markdown().rstrip()]]


@pytest.mark.parametrize("name", COMMANDS)
def test_output_of_a_command_reads_as_on_its_golden_page(name, monkeypatch, capsys):
    monkeypatch.chdir(GOLDEN)
    assert main(shlex.split(COMMANDS[name])) == 0
    assert_golden(capsys.readouterr().out, GOLDEN / f"{name}.txt")


@pytest.mark.parametrize("lines", [limited, holders, locks, compared, searched, fitted, gated])
def test_result_reads_as_on_its_golden_page(lines, tmp_path, monkeypatch):
    blocks = ["\n".join(block) for block in lines(tmp_path, monkeypatch)]
    page = "\n\n".join(blocks).replace(str(tmp_path), "DIR") + "\n"
    assert_golden(page, GOLDEN / f"{lines.__name__}.txt")
