"""Read and write table files, and read runs for them. No other module does."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..files import DamagedError, whole
from ..text import plain
from . import cell_runs
from .run_json import RunRecord

RunFiles = tuple[RunRecord, list[dict[str, Any]]]
# The metadata of our Parquet files is the table's name.
_NAME = b"beyond_ram.table"
# Maximum number of characters of a text in a table.
_MOST = 2000


def read_runs(run_jsons: Iterable[Path | str]) -> list[RunFiles]:
    """The record and the events of each run. Raises DamagedError."""
    return [cell_runs.run(Path(path).parent) for path in run_jsons]


def read(path: Path | str) -> pd.DataFrame:
    """Read a table from its Parquet file. Its texts are shortened and without invisible characters.

    Raises DamagedError if the file is truncated or has another table.
    """
    try:
        content = pq.ParquetFile(path).read()
        name = (content.schema.metadata or {}).get(_NAME, b"").decode(errors="replace")
        table: pd.DataFrame = content.to_pandas()
    except Exception as error:  # opening a damaged file can raise anything
        why = "missing" if isinstance(error, FileNotFoundError) else "cut, or no Parquet file"
        raise DamagedError(f"{path}: {why}; delete it, and Snakemake makes it again") from None
    if name != Path(path).stem:
        what = f"table {plain(name, 100)!r}" if name else "no table of beyond-ram's"
        raise DamagedError(f"{path}: holds {what}; delete it, and Snakemake makes it again")
    return table.map(lambda value: plain(value, _MOST) if isinstance(value, str) else value)


def write(table: pd.DataFrame, csv: Path | str, parquet: Path | str) -> None:
    """Write a table as CSV and Parquet, each atomically."""
    with whole(csv) as partial:
        _to_csv(table, partial)
    content = pa.Table.from_pandas(table, preserve_index=False)
    with whole(parquet) as partial:
        pq.write_table(
            content.replace_schema_metadata({**content.schema.metadata, _NAME: Path(parquet).stem.encode()}), partial
        )


def _to_csv(table: pd.DataFrame, path: Path) -> None:
    # Empty cells turn a column of counts into floats. Turn it back into whole numbers.
    floats = table.select_dtypes("float")
    counts = [name for name in floats if floats[name].dropna().map(float.is_integer).all()]
    table.astype(dict.fromkeys(counts, "Int64")).to_csv(path, index=False, lineterminator="\n")
