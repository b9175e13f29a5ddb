"""Compute a table with the function of its name in beyond_ram/analysis."""

from beyond_ram import logs, making, tables
from beyond_ram.collected import Runs


def main(snakemake):
    params = snakemake.params
    arguments = making.arguments(params.needs, snakemake.input, params.pairs, params.questions)
    table = making.table(snakemake.params.name, arguments, Runs(snakemake.input.collected))
    for warning in table.attrs.get("warnings", ()):
        logs.warn(warning)
    tables.write(table, *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
