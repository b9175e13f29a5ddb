"""Why memory grew: who let it go, what repeating adds, what remedies do, and the verdict of every cell.

Needs: runs, each of which ends with a teardown. Makes: tables `owners`, `verdicts`, `regrowth`, `remedies`, four
figures. Always holds: a verdict comes from the rules in docs/explain.md, and from nothing else.
"""

OUTPUTS.add(
    "explain",
    "Explanation",
    covers=lambda found: found.workload in ("tokenize", "soak", "planted") and not found.find_limit,
    over=lambda _: True,
    tables=["owners", "verdicts", "regrowth", "remedies"],
    figures={
        "who_holds_it": Figure("Who holds the memory"),
        "memory_by_epoch": Figure(
            "The same work again and again",
            lambda found: max(getattr(found.matrix, "epochs", [1])) > 2,
        ),
        "what_helps": Figure("What remedies do", varies("remedy")),
        "encoders": Figure("Ways to the same ids", varies("subject")),
    },
)
