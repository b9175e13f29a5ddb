"""Table `writers`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import writers

with logs.to_file(snakemake.log[0]):  # noqa: F821
    tables.write(writers(tables.read_runs(snakemake.input.runs)), *snakemake.output)  # noqa: F821
