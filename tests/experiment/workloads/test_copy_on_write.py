"""The cells of the workload `copy-on-write`."""

from beyond_ram.experiment import WORKLOADS


def test_start_method_means_nothing_without_workers() -> None:
    matrix = {"stack": ["loaders"], "holding": ["dicts"], "workers": [0, 2], "start": ["fork", "spawn"]}
    experiment = WORKLOADS["copy-on-write"].model_validate({"workload": "copy-on-write", "matrix": matrix})
    starts = [(cell["workers"], cell["start"]) for cell in experiment.cells("x")]
    assert starts == [(0, "none"), (2, "fork"), (2, "spawn")]
