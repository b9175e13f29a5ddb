"""The page of changes: what candidates changed against their baselines, worst first."""

from beyond_ram import logs, pages, tables
from beyond_ram.analysis.changes import counts, in_words


def main(snakemake):
    changes = tables.read(snakemake.input.table)
    pages.write(snakemake.input.template, snakemake.output[0], lines=in_words(changes), summary=counts(changes))


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
