"""Why memory grew: who let it go, what repeating adds, what remedies do, and the cause of every cell's growth.

Needs: runs, each of which ends with a teardown. Makes: tables `owners`, `verdicts`, `regrowth`, `remedies`, four
figures. Always holds: causes come from the rules in docs/explain.md alone.
"""


def repeats_work(found):
    """Whether an experiment has epochs enough to tell growth from a warm-up."""
    return max(getattr(found.matrix, "epochs", [1])) > 2


OUTPUTS.add(
    "explain",
    "Explanation",
    covers=lambda found: found.workload in ("tokenize", "soak", "planted") and not found.find_limit,
    over=lambda _: True,
    tables={"owners": always, "verdicts": always, "regrowth": repeats_work, "remedies": varies("remedy")},
    figures={
        "who_holds_it": Figure("Who holds the memory"),
        "memory_by_epoch": Figure(
            "The same work again and again",
            repeats_work,
        ),
        "what_helps": Figure("What remedies do", varies("remedy")),
        "encoders": Figure("Ways to the same ids", varies("subject")),
    },
)
