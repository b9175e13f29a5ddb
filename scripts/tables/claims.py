"""Table `claims`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import claims, runs

with logs.to_file(snakemake.log[0]):  # noqa: F821
    given = snakemake.input  # noqa: F821
    found = claims(runs(tables.read_runs(given.runs)), tables.read(given.dedup), tables.read(given.hub_files))
    tables.write(found, *snakemake.output)  # noqa: F821
