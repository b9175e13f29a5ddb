"""Table `streaming`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import streaming

with logs.to_file(snakemake.log[0]):  # noqa: F821
    tables.write(streaming(tables.read_runs(snakemake.input.runs)), *snakemake.output)  # noqa: F821
