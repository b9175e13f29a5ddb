"""Write the steps of one version ladder, in the format of table `ladders`."""

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import ladders, of_versions
from beyond_ram.files import read_json


def main(snakemake):
    ladder, releases = snakemake.params.ladder, read_json(snakemake.input.releases)
    runs = of_versions(tables.read_runs(snakemake.input.runs))
    steps = ladders(
        snakemake.wildcards.ladder, ladder["package"], ladder["metrics"], runs, releases, ladder["versions"]
    )
    tables.write(steps, *snakemake.output)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
