"""Why memory grew: owners that released it, repeated work, remedies, the cause for every cell, and holders of scripts.

Needs: runs, each of which ends with a teardown. Makes: tables `owners`, `verdicts`, `regrowth`, `remedies`, `holders`,
four figures. Always holds: causes follow only the rules in docs/explain.md.
"""


def repeats_work(one):
    """Whether an experiment has enough epochs to distinguish growth from a warm-up."""
    return max(getattr(one.matrix, "epochs", [1])) > 2


OUTPUTS.add(
    "explain",
    "Explanation",
    covers=lambda one: one.workload in ("tokenize", "soak") and not one.find_limit and not limited(one),
    over=lambda one: not limited(one),
    tables={"owners": always, "verdicts": always, "regrowth": repeats_work, "remedies": varies("remedy")},
    figures={
        "who_holds_it": Figure("Who holds the memory"),
        "memory_by_epoch": Figure(
            "The same work again and again",
            repeats_work,
        ),
        "what_helps": Figure("What remedies do", varies("remedy")),
    },
)

OUTPUTS.add(
    "explain",
    "Explanation",
    covers=lambda one: getattr(one, "why", False),
    tables=["holders"],
)
