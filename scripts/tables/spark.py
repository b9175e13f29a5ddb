"""Table `spark`."""

from beyond_ram import logs, tables
from beyond_ram.analysis.spark import spark

with logs.to_file(snakemake.log[0]):  # noqa: F821
    tables.write(spark(tables.read_runs(snakemake.input.runs)), *snakemake.output)  # noqa: F821
