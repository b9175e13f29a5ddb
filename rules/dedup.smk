"""Deduplication: how much of a table that was edited is new to Xet storage.

Needs: runs. Makes: table `dedup`, a figure. Always holds: new bytes are counted by hf_xet, against storage that holds
the table before the edit and nothing else.
"""

OUTPUTS.add(
    "stream",
    "Streaming",
    covers=lambda found: found.workload == "dedup",
    tables=["dedup"],
    figures={"dedup": Figure("What an edit sends again")},
)
