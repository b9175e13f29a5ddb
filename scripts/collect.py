"""Collect the runs of an experiment from their folders."""

from beyond_ram import collected, logs, outdated


def main(snakemake):
    run_jsons, output = [*snakemake.input.run_jsons, *snakemake.params.lost], snakemake.output
    collected.collect(run_jsons, output.runs, output.samples)
    outdated.write_stamps(run_jsons, snakemake.params.runs, output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
