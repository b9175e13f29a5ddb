"""A table, by the function of its name in beyond_ram/analysis."""

import sys

from beyond_ram import logs, making, tables
from beyond_ram.text import plain


def main(snakemake):
    given = making.arguments(snakemake.params.needs, snakemake.input, snakemake.params.pairs, snakemake.params.claimed)
    made = making.table(snakemake.params.name, given, snakemake.input.run_jsons)
    for warning in made.attrs.pop("warnings", ()):
        print(plain(warning, 500), file=sys.__stderr__)
    tables.write(made, *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
