"""One bisection round of a version ladder: decide from the earlier rounds which versions come next."""

import json

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import infeasible, ladders, next_versions, of_versions
from beyond_ram.files import read_json, write
from beyond_ram.rounds.planned import running_s


def to_bisect(ladder, runs, releases):
    """The versions to measure next, for any of the ladder's metrics."""
    steps = ladders("", ladder["package"], ladder["metrics"], runs, releases, ladder["versions"])
    more = [
        next_versions(steps[steps["metric"] == metric], releases, infeasible(runs, metric))
        for metric in ladder["metrics"]
    ]
    return sorted({version for versions in more for version in versions}, key=releases.index)


def main(snakemake):
    ladder = snakemake.params.ladder
    releases = read_json(snakemake.input.releases)
    if not snakemake.input.runs:
        unknown = [version for version in ladder["versions"] if version not in releases]
        if unknown:
            others = f"it has {', '.join(releases[-5:])} and {len(releases[:-5])} before"
            what = f"the index has no {ladder['package']} {', '.join(unknown)}; {others}"
            raise SystemExit(f"ladders.{snakemake.wildcards.ladder}.versions: {what}")
        ladder_round = {"versions": [version for version in releases if version in ladder["versions"]], "done": False}
        deciding_s = 0.0  # nothing has been measured yet
    else:
        table = of_versions(tables.read_runs(snakemake.input.runs))
        more = to_bisect(ladder, table, releases) if ladder["bisect"] else []
        measured = set(table["version"]) | set(more)
        ladder_round = {"versions": [version for version in releases if version in measured], "done": not more}
        deciding_s = sum(read_json(file, "deciding_s")["deciding_s"] for file in snakemake.input.rounds) + running_s()
    ladder_round["deciding_s"] = round(deciding_s, 1)
    write(snakemake.output[0], json.dumps(ladder_round, indent=2) + "\n")


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
