"""A table, by the function of its name in beyond_ram/analysis."""

from beyond_ram import logs, making, tables
from beyond_ram.collected import Runs


def main(snakemake):
    params = snakemake.params
    given = making.arguments(params.needs, snakemake.input, params.pairs, params.claimed, params.questions)
    made = making.table(snakemake.params.name, given, Runs(snakemake.input.collected))
    for warning in made.attrs.pop("warnings", ()):
        logs.warn(warning)
    tables.write(made, *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
