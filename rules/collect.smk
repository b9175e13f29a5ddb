"""Runs, collected into two files per experiment.

Needs: runs. Makes: collected/EXPERIMENT. Always holds: a run's folder is read once.
"""


def runs_to_collect(name):
    """run.json of the runs of an experiment, which are collected again if one has another content, whatever its time."""
    files = run_jsons(name)
    if outdated.changed(files, f"{COLLECTED}/{name}.stamps.json"):
        workflow.dag.forcefiles.add(f"{COLLECTED}/{name}.runs.parquet")
    return files


rule collect:
    input:
        run_jsons=lambda w: runs_to_collect(w.experiment),
    output:
        runs=f"{COLLECTED}/{{experiment}}.runs.parquet",
        samples=f"{COLLECTED}/{{experiment}}.samples.parquet",
        stamps=f"{COLLECTED}/{{experiment}}.stamps.json",
    log:
        f"{RESULTS}/logs/collected/{{experiment}}.log",
    wildcard_constraints:
        experiment=experiment.NAME,
    conda:
        "../envs/driver.yaml"
    params:
        lost=lambda w: lost_runs(w.experiment),
        code=lambda w: code_of("beyond_ram/collected.py"),
    script:
        "../scripts/collect.py"
