"""The smallest memory limit: of the experiments that ask for it. And what larger inputs would keep.

Needs: runs, a memory cgroup for limits. Makes: tables `limits` and `fit`, a figure each. Always holds: a limit is the kernel's, or it is not run.
"""

OUTPUTS.add(
    "limit",
    "Explanation",
    covers=lambda found: found.find_limit,
    tables=["limits"],
    figures={"smallest_limit": Figure("How much memory it really needs")},
)


# Settings and the size of the input vary: whether a larger input would fit is predicted.
def is_grid(found):
    inputs = getattr(found.matrix, "tokens", None) or getattr(found.matrix, "num_files", [])
    settings = varies("workers", "num_proc", "batch_size")
    return found.workload in ("load", "tokenize") and not found.find_limit and len(inputs) > 2 and settings(found)


OUTPUTS.add(
    "fit",
    "Explanation",
    covers=is_grid,
    tables=["fit"],
    figures={"fit": Figure("Will it fit: predicted from smaller runs")},
)
