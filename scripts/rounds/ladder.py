"""One bisection round of a version ladder: which versions are to be weighed, from the runs of the rounds before."""

import json

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import infeasible, ladders, next_versions, of_versions
from beyond_ram.files import read_json, write


def main(snakemake):
    ladder = snakemake.params.ladder
    releases = read_json(snakemake.input.releases)
    if not snakemake.input.runs:
        unknown = [version for version in ladder["versions"] if version not in releases]
        if unknown:
            there = f"it has {', '.join(releases[-5:])} and {len(releases[:-5])} before"
            what = f"the index has no {ladder['package']} {', '.join(unknown)}; {there}"
            raise SystemExit(f"ladders.{snakemake.wildcards.ladder}.versions: {what}")
        found = {"versions": [version for version in releases if version in ladder["versions"]], "done": False}
    else:
        table = of_versions(tables.read_runs(snakemake.input.runs))
        steps = ladders("", ladder["package"], ladder["metric"], table, releases)
        more = next_versions(steps, releases, infeasible(table, ladder["metric"])) if ladder["bisect"] else []
        seen = set(table["version"]) | set(more)
        found = {"versions": [version for version in releases if version in seen], "done": not more}
    write(snakemake.output[0], json.dumps(found, indent=2) + "\n")


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
