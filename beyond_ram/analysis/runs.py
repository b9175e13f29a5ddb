"""Table `runs`: a line a run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..metrics import derive
from .streaming import AXES as STREAMING

AXES = ["corpus", "mode", "shards", "num_files", "batch_size", "writer_batch_size", "num_proc", "cache", "stop_after"]
AXES += ["remedy", "subject", "between", "ids_agree"]
AXES += [axis for axis in STREAMING if axis not in AXES]
SCALARS = ("outcome", "completed_work", "exit_status", "signal", "duration_s", "cpu_s")


def runs(records: Iterable[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """Records and events of runs as a tidy table: the cell, the scalars of run.json, and every metric.

    `ids_agree` is False on every line of a corpus and file count whose completed runs do not all have the same hash of
    ids: one of them tokenised wrongly, and which one, the hashes beside it tell.
    """
    table = pd.DataFrame([_line(record, events) for record, events in records])
    # Whoever reads this table may ask for the axes of any workload.
    table = table.reindex(columns=[*table, *(axis for axis in AXES if axis not in table)])
    if "ids_sha256" in table and table["ids_sha256"].notna().any():
        hashes = table.groupby(["corpus", "num_files"])["ids_sha256"].transform("nunique")
        table["ids_agree"] = (hashes <= 1).where(table["ids_sha256"].notna())
    return table


def _line(record: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    provenance = record["provenance"]
    versions = {f"version_{name.replace('-', '_')}": version for name, version in provenance["versions"].items()}
    settings = " ".join(f"{name}={value}" for name, value in provenance["allocator_settings"].items())
    machine = {k: v for k, v in provenance.items() if k not in ("versions", "allocator_settings")}
    return {
        **record["cell"],
        "workload": record.get("workload", "tokenize"),  # all there was, in runs kept from before
        **{key: record[key] for key in SCALARS},
        "reason": record.get("reason", ""),
        **{key: record["work"].get(key) for key in ("rows", "bytes_in", "tokens", "ids_sha256")},
        **derive(record, events),
        **{f"sampler_{key}": value for key, value in record["sampler"].items()},
        **machine,
        "allocator_settings": settings,
        **versions,
    }
