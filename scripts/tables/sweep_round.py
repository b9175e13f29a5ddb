"""One bisection round of a version sweep: which versions are to be weighed, from the runs of the rounds before."""

import json

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import infeasible, ladders, next_versions
from beyond_ram.analysis.runs import runs
from beyond_ram.files import read_json, whole
from beyond_ram.stacks import parts_of


def weighed(paths):
    """Table `runs` of a sweep's runs, with base and version beside each."""
    table = runs(tables.read_runs(paths))
    parts = [parts_of(stack) for stack in table["stack"]]
    return table.assign(base=[base for base, _, _ in parts], version=[version for _, _, version in parts])


def main(snakemake):
    sweep = snakemake.params.sweep
    releases = read_json(snakemake.input.releases)
    if not snakemake.input.runs:
        unknown = [version for version in sweep["versions"] if version not in releases]
        if unknown:
            raise SystemExit(f"{sweep['package']}: no such release: {', '.join(unknown)}")
        found = {"versions": [version for version in releases if version in sweep["versions"]], "done": False}
    else:
        table = weighed(snakemake.input.runs)
        steps = ladders("", sweep["package"], sweep["metric"], table, releases)
        more = next_versions(steps, releases, infeasible(table)) if sweep["bisect"] else []
        seen = set(table["version"]) | set(more)
        found = {"versions": [version for version in releases if version in seen], "done": not more}
    with whole(snakemake.output[0]) as partial:
        partial.write_text(json.dumps(found, indent=2) + "\n")


if "snakemake" in globals():
    with logs.to_file(snakemake.log[0]):  # noqa: F821
        main(snakemake)  # noqa: F821
