"""Bytes that an edit uploads again: the case with the real hf_xet."""

import pytest

from beyond_ram.metrics.reported import reported

from . import run_case

EDITS = ["append", "delete", "insert", "add-column", "update"]


@pytest.mark.slow
def test_chunking_saves_most_after_a_delete_in_the_middle(tmp_path):
    plain, chunked, again = (
        reported(run_case(tmp_path / name, "dedup.py", "--rows", "20000", *flags))
        for name, flags in (("plain", ()), ("chunked", ("--chunking",)), ("again", ("--chunking",)))
    )
    assert [path.name for path in (tmp_path / "plain").iterdir()] == ["events"]
    shares = [f"New after {edit} [% of the file, lower, exact]" for edit in EDITS]
    assert all(0 < numbers[share] <= 100 for numbers in (plain, chunked) for share in shares)
    delete = shares[EDITS.index("delete")]
    assert plain[delete] > 40, "without it, everything behind the gap is new"
    assert chunked[delete] < plain[delete] / 2
    assert plain[shares[0]] < 30, "chunks before the edit are uploaded again"
    assert {name: again[name] for name in again if "exact" in name} == {
        name: chunked[name] for name in chunked if "exact" in name
    }


def test_release_without_chunking_is_not_applicable(tmp_path):
    """The stub of pyarrow lacks the option."""
    stub = tmp_path / "stubs" / "pyarrow"
    stub.mkdir(parents=True)
    for name in ("__init__", "compute"):
        (stub / f"{name}.py").write_text("")
    (stub / "parquet.py").write_text(
        "class ParquetWriter:\n    def __init__(self, where): pass\n\n\ndef write_table(table, where): pass\n"
    )
    events = run_case(tmp_path / "run", "dedup.py", "--chunking", PYTHONPATH=str(tmp_path / "stubs"))
    assert events[-1]["event"] == "not_applicable"
    assert "no content-defined chunking" in events[-1]["reason"]
