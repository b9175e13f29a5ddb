"""The cells of a gate: shipped sets are valid, and chosen cells have the package."""

import pytest

from beyond_ram.gate.cells import choose, shipped


def experiments(root, out, wanted, *packages, folder=None):
    return [cell.experiment for cell in choose(wanted, packages, out, root, folder or root).cells]


@pytest.mark.parametrize("name", ["tokenize", "load", "stream", "read", "files"])
def test_shipped_set_is_a_config_with_cells(root, tmp_path, name):
    assert name in shipped(root)
    choice = choose([name], ["datasets", "tokenizers", "huggingface-hub"], tmp_path, root, root)
    assert choice.cells
    assert {cell.rep for cell in choice.cells} == {1}
    needs = [need for cell in choice.cells for need in choice.config.job(cell).needs()]
    assert all(need.startswith((f"{tmp_path}/results", f"{root}/cases")) for need in needs)


@pytest.mark.slow
def test_default_is_every_cell_whose_stack_has_the_package(root, tmp_path):
    of_datasets = ["gate-load", "gate-read", "gate-stream", "gate-map", "gate-batches"]
    assert experiments(root, tmp_path, [], "datasets") == of_datasets
    assert experiments(root, tmp_path, [], "torch") == ["gate-load", "gate-read", "gate-stream"]
    assert experiments(root, tmp_path, [], "av") == ["gate-files"]
    assert "gate-encode" in experiments(root, tmp_path, [], "tokenizers")
    with pytest.raises(ValueError, match="no stack of these cells has no-such-package"):
        choose([], ["no-such-package"], tmp_path, root, root)


def test_all_cells_of_an_own_file_are_chosen(root, tmp_path):
    (tmp_path / "own.py").touch()
    (tmp_path / "mine.yaml").write_text(
        "defaults: none\nexperiments:\n  mine: {workload: script, matrix: {stack: [current], script: [own]}}\n"
        "scripts:\n  own: {file: own.py}\n"
    )
    assert experiments(root, tmp_path / "out", ["mine.yaml"], "no-such-package", folder=tmp_path) == ["mine"]
    absent = r"no file gone.yaml, and no set of that name \(there are: files, load, read, stream"
    with pytest.raises(ValueError, match=absent):
        choose(["gone.yaml"], ["datasets"], tmp_path, root, tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "defaults: none\n"
        "experiments:\n  mine: {workload: script, find_limit: true, matrix: {stack: [current], script: [own]}}\n"
        "scripts:\n  own: {file: own.py}\n"
    )
    with pytest.raises(ValueError, match="mine: a gate measures whole runs only"):
        choose(["mine.yaml"], [], tmp_path / "out", root, tmp_path)
