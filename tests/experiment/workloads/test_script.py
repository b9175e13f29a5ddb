"""The flags of a script are axes that a config names."""

import pandas as pd
import pytest
from pydantic import ValidationError

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.experiment import AXES, load, parse, run_pattern

from ...analysis.test_comparisons import runs

SCRIPT = {"script": {"file": "cases/workflow/objects.py"}}


def config(**flags):
    matrix = {"stack": ["current"], "script": ["script"], "flags": flags}
    question = {"metric": "cpu_s", "compare": "--threads", "where": {"--rows": [10]}}
    own = {"workload": "script", "matrix": matrix, "questions": [question]}
    return {"scripts": SCRIPT, "experiments": {"own": own}}


def test_every_combination_is_a_cell_whose_path_is_read_back(root):
    checked = load(config(threads=[1, "all"], rows=[10, 0.5]), root=root)
    cells = checked.cells("own")
    assert [(cell["--threads"], cell["--rows"]) for cell in cells] == [
        ("1", "10"), ("1", "0.5"), ("all", "10"), ("all", "0.5"),
    ]  # fmt: skip
    assert [parse(cell.path) for cell in cells] == cells
    assert pd.Series([cell.path for cell in cells]).str.fullmatch(run_pattern(checked.run())).all()
    assert checked.job(cells[2]).arguments[-1] == '["--threads", "all", "--rows", "10"]'
    assert AXES["--threads"].describe("all") == "--threads all"


@pytest.mark.parametrize("wrong", [{"threads": [True]}, {"threads": ["a b"]}, {"threads": []}, {"a/b": [1]}])
def test_a_value_that_is_no_word_is_refused(wrong):
    from beyond_ram.experiment.model import Config

    with pytest.raises(ValidationError):
        Config.model_validate(config(**wrong))


def test_each_flag_is_compared_with_its_first_value_where_all_else_is_the_same():
    cells = [
        runs("script", **{"--threads": threads, "--rows": rows}, duration_s=seconds)
        for threads, rows, seconds in (("4", "10", 1.0), ("1", "10", 2.0), ("4", "20", 3.0), ("1", "20", 4.0))
    ]
    table = comparisons(pd.DataFrame([line for cell in cells for line in cell]), [])
    compared = table[table["metric"].eq("duration_s")][["axis", "before", "after", "--threads", "--rows"]]
    assert sorted(compared.itertuples(index=False, name=None)) == [
        ("--rows", "10", "20", "1", "20"),
        ("--rows", "10", "20", "4", "20"),
        ("--threads", "4", "1", "1", "10"),
        ("--threads", "4", "1", "1", "20"),
    ]
