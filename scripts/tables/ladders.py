"""Write table `ladders`: the steps of all version ladders."""

import pandas as pd

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import COLUMNS


def main(snakemake):
    # A table without steps has no column types to contribute.
    parts = [steps for steps in map(tables.read, snakemake.input.steps) if len(steps)]
    tables.write(pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS), *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
