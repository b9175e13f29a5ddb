"""The smallest memory limit: of the experiments that ask for it.

Needs: runs, a memory cgroup. Makes: table `limits`, a figure. Always holds: a limit is the kernel's, or it is not run.
"""

OUTPUTS.add(
    "limit",
    "Explanation",
    covers=lambda found: found.find_limit,
    tables=["limits"],
    figures={"smallest_limit": Figure("How much memory it really needs")},
)
