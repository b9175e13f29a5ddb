"""What candidates changed against their baselines, of every comparison that the config names and every kept lock.

Needs: table `comparisons`. Makes: table `changes`, and its page. Always holds: the same decisions as everywhere else.
"""


def compares(found):
    """Whether an experiment runs both stacks of a pair; an older lock's runs are kept."""
    stacks = {*found.matrix.stack}
    return any(after in stacks and (before in stacks or "@" in before) for before, after in PAIRS)


OUTPUTS.add(
    "compare",
    "What changed",
    covers=compares,
    tables=["changes"],
    pages={"changes": "what candidates changed against their baselines"},
)
