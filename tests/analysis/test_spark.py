"""Table `spark`."""

import pandas as pd

from beyond_ram.analysis.spark import spark

from .by_hand import sparked


def test_one_line_per_step_and_one_for_a_run_without_steps() -> None:
    table = spark(sparked())
    assert table["step"].tolist()[:2] == ["read", "write"]
    assert table["works"].tolist() == [True, False, pd.NA]
    assert table["rows_read"].tolist() == [5, pd.NA, pd.NA]
    assert table["reason"].tolist() == ["", "TypeError: x", "no Java"]
    assert table["pyspark_huggingface"].tolist()[:2] == ["2.1.0", "2.1.0"]
    assert spark([]).empty
