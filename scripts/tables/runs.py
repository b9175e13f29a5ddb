"""Table `runs`, and one loud line on the terminal for each run whose ids are not those of the others."""

import sys

from beyond_ram import logs, tables
from beyond_ram.analysis import runs


def main(snakemake):
    table = runs(tables.read_runs(snakemake.input.runs))
    for fault in table[table["ids_agree"].eq(False)].itertuples():
        cell = f"{fault.experiment}: {fault.stack}, {fault.mode}, {fault.num_files} files, {fault.cache}"
        print(f"IDS DIFFER in {cell}: SHA-256 {fault.ids_sha256}", file=sys.__stderr__)
    tables.write(table, *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
