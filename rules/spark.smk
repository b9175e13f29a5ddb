"""Spark: a repository read, written back and appended to by its data source for the Hub.

Needs: repositories, runs, Java. Makes: table `spark`, a figure. Always holds: a step that does not work is recorded with its
reason; without Java nothing is run, and that is the reason.
"""

OUTPUTS.add(
    "stream",
    "Streaming",
    covers=lambda found: found.workload == "spark",
    tables=["spark"],
    figures={"spark": Figure("What Spark can do with a Hub")},
)
