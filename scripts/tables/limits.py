"""Table `limits`."""

from beyond_ram import logs, tables
from beyond_ram.analysis import limits

with logs.to_file(snakemake.log[0]):  # noqa: F821
    records = [record for record, _ in tables.read_runs(snakemake.input.runs)]  # noqa: F821
    tables.write(limits(records), *snakemake.output)  # noqa: F821
