"""Tables as files."""

import pandas as pd

from beyond_ram.records import tables


def test_counts_stay_whole_numbers_beside_empty_cells(tmp_path):
    table = pd.DataFrame({"num_files": [4.0, None], "share": [0.5, 1.0], "name": ["a", "b"]})
    tables.write(table, tmp_path / "t.csv", tmp_path / "t.parquet")
    assert (tmp_path / "t.csv").read_text() == "num_files,share,name\n4,0.5,a\n,1.0,b\n"


def test_warnings_are_read_back_from_parquet(tmp_path):
    table = pd.DataFrame({"name": ["a"]})
    table.attrs["warnings"] = ["no run reports 'x'"]
    tables.write(table, tmp_path / "t.csv", tmp_path / "t.parquet")
    assert tables.read(tmp_path / "t.parquet").attrs == table.attrs
