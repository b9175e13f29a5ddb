"""Collect the runs of an experiment from their folders."""

from beyond_ram.files import read_json
from beyond_ram.records import collected
from beyond_ram.workflow import logs, outdated


def main(snakemake):
    runs, output = snakemake.params.runs, snakemake.output
    listed = [run for file in snakemake.input.further for run in read_json(file, "runs")["runs"]]
    further = [f"{runs}/{run}/run.json" for run in listed if run.startswith(f"{snakemake.wildcards.experiment}/")]
    run_jsons = [*snakemake.input.run_jsons, *further]
    collected.collect(run_jsons, output.runs, output.samples)
    outdated.write_stamps(run_jsons, runs, output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
