"""Table `growth`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import growth, runs

with logs.to_file(snakemake.log[0]):  # noqa: F821
    records = tables.read_runs(snakemake.input.runs)  # noqa: F821
    tables.write(growth(runs(records)), *snakemake.output)  # noqa: F821
