"""Scripts: numbers that they report themselves. The cases of this project are scripts too.

Needs: runs. Makes: table `reported`, a figure. Always holds: label, unit and direction of a number come from its script.
"""

OUTPUTS.add(
    "scripts",
    "Scripts",
    covers=lambda one: one.workload == "script",
    tables=["reported"],
    figures={"reported": Figure("What scripts report")},
)
