"""Table `ladders`, of all version sweeps."""

import pandas as pd

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import COLUMNS, ladders
from beyond_ram.analysis.runs import runs
from beyond_ram.files import read_json
from beyond_ram.stacks import parts_of


def main(snakemake):
    found = []
    for name, sweep in snakemake.params.sweeps.items():
        releases = read_json(sweep["releases"])
        table = runs(tables.read_runs(sweep["runs"]))
        parts = [parts_of(stack) for stack in table["stack"]]
        table = table.assign(base=[base for base, _, _ in parts], version=[version for _, _, version in parts])
        found.append(ladders(name, sweep["package"], sweep["metric"], table, releases))
    # One without a step has no types to bring along.
    found = [steps for steps in found if len(steps)]
    tables.write(pd.concat(found) if found else pd.DataFrame(columns=COLUMNS), *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
