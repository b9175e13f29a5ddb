"""The cells of the workload `stream`."""

from beyond_ram.experiment import WORKLOADS


def test_only_shuffled_streams_have_input_shards():
    matrix = {"stack": ["stream-current"], "repository": ["large"], "mode": ["stream", "download"]}
    matrix |= {"shuffle_buffer": [0, 500], "input_shards": [0, 4]}
    cells = WORKLOADS["stream"].model_validate({"workload": "stream", "matrix": matrix}).cells("x")
    points = {(cell["mode"], cell["shuffle_buffer"], cell["input_shards"]) for cell in cells}
    assert points == {
        ("stream", 0, 0), ("stream", 500, 0), ("stream", 500, 4), ("download", 0, 0), ("download", 500, 0),
    }  # fmt: skip
    assert len(cells) == len(points)
