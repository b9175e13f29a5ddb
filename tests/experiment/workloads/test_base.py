"""The cells of a matrix."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from beyond_ram.experiment import WORKLOADS, load
from beyond_ram.experiment.workloads.base import Axis, Counts, Experiment, Matrix, Values


def test_meaningless_combinations_are_left_out(config, root):
    config["ladders"] = {}
    config["experiments"] = {
        "x": {
            "workload": "tokenize",
            "repeats": 2,
            "matrix": {
                "stack": ["current"],
                "corpus": ["binaries"],
                "mode": ["basic", "shard"],
                "shards": [2, 4],
                "num_files": [3],
                "cache": ["cold", "interrupted"],
                "stop_after": [1],
            },
        }
    }
    cells = load(config, root=root).cells("x")
    points = {(cell["mode"], cell["shards"], cell["cache"], cell["stop_after"]) for cell in cells}
    assert points == {
        ("basic", 1, "cold", 0),
        ("shard", 2, "cold", 0),
        ("shard", 4, "cold", 0),
        ("shard", 2, "interrupted", 1),
        ("shard", 4, "interrupted", 1),
    }
    assert len(cells) == 2 * len(points)


def test_paths_of_cells_follow_the_grammar():
    class DeepMatrix(Matrix):
        width: Annotated[Counts, Axis()] = Field([1])
        workers: Annotated[Counts, Axis(unit="workers")] = Field([0])
        depth: Annotated[Counts, Axis()] = Field([2])
        cache: Annotated[Values[Literal["cold", "interrupted", "rerun"]], Axis("cache")] = Field(["cold"])

        def normalise(self, point):
            return super().normalise(point if point["workers"] else point | {"depth": 0})

    class Deep(Experiment):
        PROGRAM = "deep.py"
        workload: Literal["deep"]
        matrix: DeepMatrix

    matrix = {"stack": ["s"], "workers": [0, 2], "depth": [2, 5]}
    experiment = Deep.model_validate({"workload": "deep", "matrix": matrix})
    paths = [cell.path for cell in experiment.cells("x")]
    assert paths == [
        "x/stack~s/width~1/workers~0/depth~0/cache~cold/rep~1",
        "x/stack~s/width~1/workers~2/depth~2/cache~cold/rep~1",
        "x/stack~s/width~1/workers~2/depth~5/cache~cold/rep~1",
    ]


def test_start_method_means_nothing_without_workers():
    matrix = {
        "stack": ["loaders"],
        "tokens": ["t"],
        "loader": ["threads"],
        "workers": [0, 2],
        "start": ["fork", "spawn"],
    }
    experiment = WORKLOADS["load"].model_validate({"workload": "load", "matrix": matrix})
    starts = [(cell["workers"], cell["start"]) for cell in experiment.cells("x")]
    assert starts == [(0, "none"), (2, "fork"), (2, "spawn")]
