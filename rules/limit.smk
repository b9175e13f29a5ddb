"""The smallest memory limit of experiments with `find_limit`.

Needs: runs, a memory cgroup for limits. Makes: table `limits` and its figure. Always holds: only the kernel limits;
without it nothing is run.
"""

OUTPUTS.add(
    "limit",
    "Explanation",
    covers=lambda one: one.find_limit,
    tables=["limits"],
    figures={"smallest_limit": Figure("How much memory it really needs", question="How much memory must I request?")},
)
