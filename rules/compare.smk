"""Candidates and their baselines, for every comparison of the config and every upgraded lock.

Needs: tables `runs`, `comparisons` and `stack_differences`. Makes: table `changes`. Always holds: results are
those of table `comparisons`.
"""

OUTPUTS.add(
    "compare",
    "What changed",
    covers=compares,
    tables=["changes"],
)
