"""Table `remedies`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import remedies

with logs.to_file(snakemake.log[0]):  # noqa: F821
    tables.write(remedies(tables.read(snakemake.input.runs)), *snakemake.output)  # noqa: F821
