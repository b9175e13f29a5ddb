"""The one place that reads and writes files of tables, and reads runs for them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from .experiment import records
from .files import DamagedError, whole
from .text import plain

RunFiles = tuple[dict[str, Any], list[dict[str, Any]]]
# Metadata of our Parquet files: the name of the table.
_NAME = b"beyond_ram.table"
# Characters of a text in a table.
_MOST = 2000


def read_run(run_json: Path | str) -> RunFiles:
    """The record and the events of one run. Raises DamagedError."""
    return records.run(Path(run_json).parent)


def read_runs(run_jsons: Iterable[Path | str]) -> list[RunFiles]:
    return [read_run(path) for path in run_jsons]


def read(path: Path | str) -> pd.DataFrame:
    """A table from its Parquet file, its texts without unseen characters and not endless.

    Raises DamagedError for one that is cut, or is no table of that name.
    """
    try:
        content = pq.ParquetFile(path).read()
        name = (content.schema.metadata or {}).get(_NAME, b"").decode(errors="replace")
        table: pd.DataFrame = content.to_pandas()
    except Exception as error:  # a damaged file that opens may raise anything
        why = "missing" if isinstance(error, FileNotFoundError) else "cut, or no Parquet file"
        raise DamagedError(f"{path}: {why}; delete it, and Snakemake makes it again") from None
    if name != Path(path).stem:
        what = f"table {plain(name, 100)!r}" if name else "no table of beyond-ram's"
        raise DamagedError(f"{path}: holds {what}; delete it, and Snakemake makes it again")
    return table.map(lambda value: plain(value, _MOST) if isinstance(value, str) else value)


def write(table: pd.DataFrame, csv: Path | str, parquet: Path | str) -> None:
    """Write a table as CSV and Parquet, each whole or not at all."""
    with whole(csv) as partial:
        _to_csv(table, partial)
    content = pa.Table.from_pandas(table, preserve_index=False)
    with whole(parquet) as partial:
        pq.write_table(
            content.replace_schema_metadata({**content.schema.metadata, _NAME: Path(parquet).stem.encode()}), partial
        )


def _to_csv(table: pd.DataFrame, path: Path) -> None:
    # A count that other experiments do not have is a float here, because of their empty cells, and still a count.
    floats = table.select_dtypes("float")
    counts = [name for name in floats if floats[name].dropna().map(float.is_integer).all()]
    table.astype(dict.fromkeys(counts, "Int64")).to_csv(path, index=False, lineterminator="\n")
