"""Collect the runs of an experiment from their folders."""

from beyond_ram import collected, logs

with logs.to_file(snakemake.log[0]):  # noqa: F821
    collected.collect([*snakemake.input.run_jsons, *snakemake.params.lost], *snakemake.output)  # noqa: F821
