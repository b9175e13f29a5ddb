"""Table `choices`: for each order, worker count and memory, the loaders that no other beats."""

from beyond_ram import logs, tables
from beyond_ram.analysis import choices

with logs.to_file(snakemake.log[0]):  # noqa: F821
    tables.write(choices(tables.read(snakemake.input.loaders)), *snakemake.output)  # noqa: F821
