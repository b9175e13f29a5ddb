"""Table `holders`: the rules of causes, on hand-made evidence."""

import pandas as pd
import pytest

from beyond_ram.analysis.holders import cause_in_words, cause_of, holders

from .by_hand import MB, tree


def why(*steps, stayed_mb=0, **counts_mb):
    """A heap that began with 10 MB, took 20 MB for imports, and gave back in steps of a kind, name and size."""
    released = [{"kind": kind, "holder": holder, "released_bytes": size * MB} for kind, holder, size in steps]
    stayed = (20 + stayed_mb) * MB
    end = 10 * MB + stayed + sum(step["released_bytes"] for step in released)
    counts = {f"{name}_bytes_more": size * MB for name, size in counts_mb.items()}
    return {"start_bytes": 10 * MB, "end_bytes": end, "imports_bytes": 20 * MB, "stayed_bytes": stayed,
            "steps": released, **counts}  # fmt: skip


POOL, MALLOC = ("allocator", "arrow pool, unused"), ("allocator", "allocator, unused")
IN_USE = {"malloc": 90.0, "python": 10.0, "arrow": 0.0}


@pytest.mark.parametrize(
    ("evidence", "cause", "owner"),
    [
        (why(("name", "rows", 10)), "flat", ""),
        (why(("name", "rows", 60), ("others", "others", 10)), "held", "rows"),
        (why(("name", "rows", 60), ("name", "more", 40)), "held", "rows"),
        (why(("name", "few", 10), ("name", "rows", 50), ("name", "more", 40)), "held", "rows and more"),
        (why(*(("name", str(number), 10) for number in range(10))), "undecided", ""),
        (why((*MALLOC, 70), ("name", "rows", 30)), "retained", "allocator"),
        (why((*POOL, 15), (*MALLOC, 62), ("name", "rows", 23)), "retained", "allocator"),
        (why((*POOL, 42), (*MALLOC, 43), ("name", "rows", 15)), "retained", "allocator and arrow pool"),
        (why((*MALLOC, 50), ("name", "rows", 50)), "undecided", ""),
        (why(("others", "others", 40), stayed_mb=60), "undecided", ""),
        (why(stayed_mb=100, malloc=10, python=10, arrow=0), "retained", "allocator (fragments)"),
        (why(stayed_mb=100, **IN_USE), "undecided", ""),
        (why(stayed_mb=100, python=10, arrow=0), "undecided", ""),
    ],
)
def test_each_rule(evidence, cause, owner):
    assert cause_of(evidence) == (cause, owner)


def test_files_and_repeated_work_decide_what_releasing_cannot():
    assert cause_of(why(("name", "rows", 10)), file_bytes=60 * MB) == ("page-cache", "mapped files")
    stayed = why(stayed_mb=100, **IN_USE)
    assert cause_of(stayed, repeated="grows") == ("leak", "what no step gave back")
    assert cause_of(stayed, repeated="levels off") == ("held", "what no step gave back")
    assert cause_of(why(("name", "rows", 60)), repeated="grows") == ("held", "rows")


def repeated(rep, sizes_mb, **more):
    cell = {"experiment": "e", "stack": "s", "epochs": 6, "rep": rep}
    marks = [{"t_s": 0, "event": "imported", "tree": tree(10 * MB)}]
    marks += [{"t_s": n, "event": "epoch", "tree": tree(size * MB)} for n, size in enumerate(sizes_mb)]
    return {"cell": cell, "completed_work": True, "work": {"bytes_in": 60 * MB}, **more}, marks


def test_leak_needs_every_run_of_its_cell():
    explained = {"why": why(stayed_mb=100, **IN_USE)}
    runs = [repeated(1, [10, 20, 30, 40, 50, 60], **explained), repeated(2, [10, 20, 30, 40, 50.2, 60])]
    assert set(holders(runs)["cause"]) == {"leak"}
    assert set(holders(runs[:1])["cause"]) == {"undecided"}
    assert holders(runs)["released_bytes"].sum() == explained["why"]["end_bytes"] - explained["why"]["start_bytes"]
    assert holders(runs[1:]).empty


def test_cause_is_that_of_the_largest_input_of_the_same_setting():
    columns = {"experiment": "e", "stack": "s", "corpus": "c"}
    table = pd.DataFrame([
        columns | {"num_files": 2, "cause": "retained", "owner": "allocator"},
        columns | {"num_files": 44, "cause": "held", "owner": "tokenizer"},
        columns | {"num_files": 80, "stack": "t", "cause": "retained", "owner": "allocator"},
    ])  # fmt: skip
    assert cause_in_words(table, columns) == "in one run the tokenizer held most of it"
    assert cause_in_words(table, columns | {"stack": "u"}) == ""
    assert cause_in_words(table.assign(cause="undecided"), columns) == cause_in_words(None, columns) == ""
