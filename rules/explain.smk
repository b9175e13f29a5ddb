"""Why memory grew: what holds it at the end, the same work again, remedies.

Needs: runs. Makes: tables `holders` and `regrowth`. Always holds: causes follow only the rules in
docs/explain.md.
"""


def repeats_work(one):
    """Whether an experiment has enough epochs to distinguish growth from a warm-up."""
    return max(getattr(one.matrix, "epochs", [1])) > 2


OUTPUTS.add(
    "explain",
    "Explanation",
    covers=lambda one: one.workload in ("tokenize", "soak") and not one.find_limit and not limited(one),
    over=lambda one: not limited(one),
    tables={"regrowth": repeats_work},
)

OUTPUTS.add(
    "explain",
    "Explanation",
    covers=lambda one: one.why,
    tables=["holders"],
)
