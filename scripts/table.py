"""Compute a table with the function of its name in beyond_ram/analysis."""

from beyond_ram.records import tables
from beyond_ram.records.collected import Runs
from beyond_ram.workflow import logs, make_output


def main(snakemake):
    params = snakemake.params
    arguments = make_output.arguments(params.needs, snakemake.input, params.pairs, params.questions)
    table = make_output.table(snakemake.params.name, arguments, Runs(snakemake.input.collected))
    for warning in table.attrs.get("warnings", ()):
        logs.warn(warning)
    tables.write(table, *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
