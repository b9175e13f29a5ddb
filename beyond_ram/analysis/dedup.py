"""Table `dedup`: how much of an edited table is new to Xet storage, and the cost for the writer."""

import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..metrics import Records, derive
from .decide import Decision, Question, decide, side
from .frame import axes_of, same_but_for, where
from .thresholds import Threshold

MEASURED = ["edited_rows", "parquet_bytes", "table_bytes", "new_bytes", "uploaded_bytes", "new_chunks", "total_chunks"]
MEASURED += ["new_share", "file_write_cpu_s", "file_write_s", "push_cpu_s"]
COLUMNS = ["experiment", *axes_of("dedup"), "rep", "edit", "completed_work", *MEASURED]
FIRST = "none"
"""Value of `edit` for the unedited table, pushed to empty storage."""


def dedup(records: Records) -> pd.DataFrame:
    """One line per edit of a run. `new_share` is a share of the file, before Xet compresses the upload.

    `edit` is `none` for the table as first pushed. All of it is new, unless it repeats itself.
    """
    lines = [
        {
            **record["cell"],
            "edit": event["edit"],
            "completed_work": record["completed_work"],
            **derive(record, [event], "dedup"),
        }
        for record, events in records
        for event in events
        if event["event"] == "edit"
    ]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def saved(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, tuple[pd.Series, Decision]]]]:
    """For each setting of `against` and each edit: the shares, and how many times fewer bytes are new with chunking."""
    asked = [(setting, str(edit), shares.loc[edit]) for setting, shares in against(table) for edit in shares.index]
    questions = []
    for setting, edit, _ in asked:
        on, off = (side(where(table, edit=edit, cdc=cdc, **setting), "new_bytes") for cdc in ("on", "off"))
        questions.append(Question(on, off, "new_bytes", threshold=Threshold(), counted=True))
    decided = [(*one, decision) for one, decision in zip(asked, decide(questions), strict=True)]
    for setting, edits in itertools.groupby(decided, key=operator.itemgetter(0)):
        yield setting, {edit: (shares, one) for _, edit, shares, one in edits if not math.isnan(one.ratio)}


def against(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The settings that were pushed with and without chunking, each with the median new share per edit in columns `off`
    and `on`.

    Only runs that finished their work count.
    """
    edited = table[(table["edit"] != FIRST) & table["completed_work"].astype(bool)]
    for setting, group in same_but_for(edited, "cdc"):
        shares = group.pivot_table(index="edit", columns="cdc", values="new_share", aggfunc="median", sort=False)
        if {"off", "on"} <= set(shares):
            yield setting, shares
