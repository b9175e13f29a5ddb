"""Table `dedup`."""

from beyond_ram import logs, tables
from beyond_ram.analysis.dedup import dedup

with logs.to_file(snakemake.log[0]):  # noqa: F821
    records = tables.read_runs(snakemake.input.runs)  # noqa: F821
    tables.write(dedup(records), *snakemake.output)  # noqa: F821
