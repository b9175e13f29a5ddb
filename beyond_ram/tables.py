"""Files of runs and tables: read and written here, and nowhere else."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

RunFiles = tuple[dict[str, Any], list[dict[str, Any]]]


def read_run(run_json: Path | str) -> RunFiles:
    """The record and the events of one run."""
    path = Path(run_json)
    events = (path.parent / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(path.read_text(encoding="utf-8")), [json.loads(line) for line in events]


def read_runs(run_jsons: Iterable[Path | str]) -> list[RunFiles]:
    return [read_run(path) for path in run_jsons]


def read_samples(run_json: Path | str) -> pd.DataFrame:
    """The samples of one run."""
    return pd.read_csv(Path(run_json).parent / "samples.csv", keep_default_na=False, na_values=[""])


def read(path: Path | str) -> pd.DataFrame:
    return pd.read_parquet(path)


def write(table: pd.DataFrame, csv: Path | str, parquet: Path | str) -> None:
    """A table as CSV and its Parquet twin, each whole or not at all."""
    for path, save in ((Path(csv), _to_csv), (Path(parquet), _to_parquet)):
        partial = path.with_name(f".{path.name}.partial")
        save(table, partial)
        partial.replace(path)


def _to_csv(table: pd.DataFrame, path: Path) -> None:
    # A count that other experiments do not have is a float here, because of their empty cells, and still a count.
    floats = table.select_dtypes("float")
    whole = [name for name in floats if floats[name].dropna().map(float.is_integer).all()]
    table.astype(dict.fromkeys(whole, "Int64")).to_csv(path, index=False, lineterminator="\n")


def _to_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)
