"""The steps of one version sweep, as table `ladders` has them."""

from beyond_ram import logs, tables
from beyond_ram.analysis.ladders import ladders, of_versions
from beyond_ram.files import read_json


def main(snakemake):
    sweep, releases = snakemake.params.sweep, read_json(snakemake.input.releases)
    runs = of_versions(tables.read_runs(snakemake.input.runs))
    tables.write(
        ladders(snakemake.wildcards.sweep, sweep["package"], sweep["metric"], runs, releases), *snakemake.output
    )


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
