"""Table `runs`: one line per run."""

from collections.abc import Mapping
from typing import Any, cast

import pandas as pd

from ..experiment import AXES
from ..metrics import Events, Record, Records, derive
from .frame import axes, describe

SCALARS = ("outcome", "completed_work", "exit_status", "signal")


def runs(records: Records) -> pd.DataFrame:
    """Records and events of runs as a tidy table: the cell, the scalars of run.json, and every metric.

    `ids_agree` is False on every line of a corpus and file count whose completed runs do not all have the same hash of
    ids: at least one of them tokenised wrongly. The hashes in the lines show which. It is empty if there is only one
    run.
    """
    table = pd.DataFrame([_line(record, events) for record, events in records])
    # Use the same columns for every config.
    table = table.reindex(columns=[*table, *(name for name in (*AXES, "ids_agree") if name not in table)])
    if "ids_sha256" in table and table["ids_sha256"].notna().any():
        hashes = table.groupby(["corpus", "num_files"])["ids_sha256"]
        compared = table["ids_sha256"].notna() & (hashes.transform("count") > 1)
        table["ids_agree"] = (hashes.transform("nunique") <= 1).where(compared)
    wrong = table[table["ids_agree"].eq(False)]
    named = axes(wrong)
    table.attrs["warnings"] = [f"IDS DIFFER: {', '.join(describe(line, named))}" for _, line in wrong.iterrows()]
    return table


def _line(record: Record, events: Events) -> dict[str, Any]:
    provenance = record["provenance"]
    versions = {f"version_{name.replace('-', '_')}": version for name, version in provenance["versions"].items()}
    settings = {
        key: " ".join(f"{name}={value}" for name, value in provenance[key].items())
        for key in ("allocator_settings", "thread_settings")
    }
    machine = {k: v for k, v in provenance.items() if k not in ("versions", "randomised", *settings)}
    measured, scalars = derive(record, events), cast(Mapping[str, Any], record)
    return {
        **record["cell"],
        **{key: scalars[key] for key in ("workload", *SCALARS)},
        **{key: measured[key] for key in ("duration_s", "cpu_s")},
        "started_at": record.get("started_at"),
        "reason": record.get("reason", ""),
        **{key: measured[key] for key in ("rows", "bytes_in")},
        "ids_sha256": record["work"].get("ids_sha256"),
        "answer_sha256": record["work"].get("answer_sha256"),
        **measured,
        **{f"sampler_{key}": value for key, value in record["sampler"].items()},
        **machine,
        **settings,
        **versions,
    }
