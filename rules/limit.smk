"""The smallest memory limit of experiments with `find_limit`, and the predicted memory of larger inputs.

Needs: runs, a memory cgroup for limits. Makes: tables `limits` and `fit`, a figure each. Always holds: only the kernel
limits; without it nothing is run.
"""

OUTPUTS.add(
    "limit",
    "Explanation",
    covers=lambda one: one.find_limit,
    tables=["limits"],
    figures={"smallest_limit": Figure("How much memory it really needs", question="How much memory must I request?")},
)


# Settings and input size vary, so the memory of larger inputs can be predicted.
def is_grid(one):
    inputs = getattr(one.matrix, "tokens", None) or getattr(one.matrix, "num_files", [])
    settings = varies("workers", "num_proc", "batch_size")
    return one.workload in ("load", "tokenize") and not one.find_limit and len(inputs) > 2 and settings(one)


OUTPUTS.add(
    "fit",
    "Explanation",
    covers=is_grid,
    tables=["fit"],
    figures={"fit": Figure("Will it fit: predicted from smaller runs")},
)
