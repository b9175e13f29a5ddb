"""Candidates and their baselines, for every comparison of the config and every kept lock.

Needs: tables `runs`, `comparisons` and `stack_differences`. Makes: table `changes`, and table `history` if results of
earlier locks are kept, each with a page. Always holds: results are those of table `comparisons`.
"""


def has_earlier_locks(one):
    """Whether results of an earlier lock of one of its stacks are kept."""
    return any("@" in before and after in one.matrix.stack for before, after in PAIRS)


OUTPUTS.add(
    "compare",
    "What changed",
    covers=compares,
    tables=["changes"],
    pages={"changes": Page("what candidates changed against their baselines", ["stack_differences"])},
)
OUTPUTS.add(
    "compare",
    "History",
    covers=has_earlier_locks,
    tables=["history"],
    pages={"history": Page("what each lock of a stack gave", ["stack_differences"])},
)
