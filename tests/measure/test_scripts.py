"""The outcome of a run of a script."""

import pytest

from beyond_ram.measure.plan import Member
from beyond_ram.measure.scripts import cell_of, job_of, measure

from .conftest import setting_of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("first = bytearray(1); os._exit(0); second = bytearray(2)", "failed: it ended with status 0 before its end"),
        ("os.execvp('true', ['true'])", "failed: it ended with status 0 before its end"),
        ("os._exit(3)", "failed: exit status 3"),
        ("raise MemoryError", "failed: MemoryError"),
        ("raise SystemExit(0)", "completed"),
        ("pid = os.fork() or os._exit(0); os.wait()", "completed"),
    ],
)
def test_only_a_run_to_the_end_of_the_script_completes(text, outcome, tmp_path):
    script = tmp_path / "case.py"
    script.write_text(f"import os\n{text}\n")
    job = job_of(cell_of("ends", "current", script, 1), script, [])
    ended = measure(setting_of(job, tmp_path), tmp_path / "runs", (Member("ends", "current"), 1, "alone"))
    assert ended.outcome == outcome
    assert bool(ended.values) == (ended.answer is not None) == (outcome == "completed")
