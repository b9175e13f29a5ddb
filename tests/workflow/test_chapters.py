"""The choice of tables and figures for experiments."""

import pytest

from beyond_ram.experiment import load
from beyond_ram.workflow.chapters import FIGURES, GENERAL, Figure, Outputs, always, has, parameters, varies

SCAN = {"workload": "script", "matrix": {"stack": ["current"], "script": ["own"]}}
LOAD = {"workload": "load", "matrix": {"stack": ["loaders"], "tokens": ["t"], "loader": ["threads"]}}


def outputs(root, **experiments):
    scripts, tokens = {"own": {"file": "cases/pandas_2_2_0.py"}}, {"t": {"rows": 9}}
    config = load({"corpora": {}, "scripts": scripts, "tokens": tokens, "experiments": experiments}, root=root)
    planned = Outputs(root, config.run())
    limit, cost = {"smallest_limit": Figure("Limits")}, {"cost": Figure("Cost", varies("order"))}
    planned.add("limit", "Limits", lambda one: one.workload == "script", tables=["limits"], figures=limit)
    planned.add("load", "Loading", lambda one: one.workload == "load", tables=["loaders"], figures=cost)
    planned.add(GENERAL, "Overview", lambda _: False, over=always, tables=["runs"])
    return planned


def test_outputs_without_an_experiment_are_left_out(root):
    planned = outputs(root, scan=SCAN)
    assert planned.tables() == ["limits", "runs"]
    assert planned.figures() == {"smallest_limit": "Limits"}
    assert planned.left_out() == ["Cost"]


def test_part_uses_its_own_experiments(root):
    planned = outputs(root, scan=SCAN, load=LOAD)
    runs = planned.of("table", "runs")
    assert planned.parts() == ["limit", "load"]
    assert planned.experiments_of(runs) == ["scan", "load"]
    assert planned.experiments_of(runs, ["load"]) == ["load"]
    assert planned.tables(["load"]) == ["loaders", "runs"]
    assert planned.tables(["load"], general=False) == ["loaders"]


def test_table_with_a_condition_needs_a_matching_experiment(root):
    planned = outputs(root, load=LOAD)
    planned.add("load", "Remedies", always, tables={"regrowth": varies("epochs"), "holders": always})
    assert planned.tables(["load"], general=False) == ["loaders", "holders"]


def test_comparing_figure_needs_an_axis_that_varies(root):
    several = {"workload": "load", "matrix": LOAD["matrix"] | {"order": ["sequential", "shuffled"]}}
    assert not outputs(root, load=LOAD).figures()
    assert outputs(root, load=several).figures() == {"cost": "Cost"}
    assert outputs(root, scan=SCAN, load=several).left_out(["limit"]) == ["Cost"]
    assert has("order", "shuffled")(outputs(root, load=several).experiments["load"])


def test_inputs_of_a_table_are_its_functions_parameters(root, tmp_path):
    assert outputs(root, scan=SCAN).needs("table", "limits") == ["records"]
    (tmp_path / "t.py").write_text("def t(records, holders=None, *, level=0.05): ...")
    assert parameters(tmp_path / "t.py", "t") == ["records", "holders"]
    with pytest.raises(ValueError, match="has no function 'u'"):
        parameters(tmp_path / "t.py", "u")
    with pytest.raises(ValueError, match=r"v\.py: a chapter names it, and there is no such file"):
        parameters(tmp_path / "v.py", "plot")


def test_parameter_that_no_table_fills_is_refused(root, tmp_path):
    (tmp_path / FIGURES).mkdir(parents=True)
    (tmp_path / FIGURES / "cost.py").write_text("def plot(loader): ...")
    planned = Outputs(tmp_path, {}, outputs(root, load=LOAD).chapters)
    with pytest.raises(ValueError, match=r"cost\.py: no table fills the parameter 'loader'; did you mean 'loaders'"):
        planned.needs("figure", "cost")
