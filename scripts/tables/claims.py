"""Table `claims`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import claims, runs

with logs.to_file(snakemake.log[0]):  # noqa: F821
    given = snakemake.input  # noqa: F821
    others = (tables.read(path) for path in (given.dedup, given.hub_files, given.spark))
    found = claims(runs(tables.read_runs(given.runs)), *others, pairs=snakemake.params.pairs)  # noqa: F821
    tables.write(found, *snakemake.output)  # noqa: F821
