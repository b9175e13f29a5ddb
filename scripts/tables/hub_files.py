"""Table `hub_files`."""

from beyond_ram import logs, tables
from beyond_ram.analysis.hub_files import hub_files

with logs.to_file(snakemake.log[0]):  # noqa: F821
    tables.write(hub_files(tables.read_runs(snakemake.input.runs)), *snakemake.output)  # noqa: F821
