"""Runs, collected into two files per experiment.

Needs: runs. Makes: collected/EXPERIMENT. Always holds: a run's folder is read once.
"""


def runs_to_collect(name):
    """run.json of the runs of an experiment. Whatever their times, runs of other code are made again, and if one has
    another content, all are collected again."""
    stamps = outdated.stamps(f"{COLLECTED}/{name}.stamps.json")
    if outdated.changed(RUNS, stamps):
        workflow.dag.forcefiles.add(f"{COLLECTED}/{name}.runs.parquet")
    files, kept = run_jsons(name), {*KEPT}
    for file in files:
        run = os.path.dirname(file.removeprefix(f"{RUNS}/"))
        stamp = stamps.get(f"{run}/run.json")
        if stamp and stamp.code and run not in kept and stamp.code != code_of_cell(cell_of(run)):
            workflow.dag.forcefiles.add(file)
    return files


rule collect:
    input:
        run_jsons=lambda w: runs_to_collect(w.experiment),
        code=closure("beyond_ram/collected.py", workflow.basedir),
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
        runs=RUNS,
        code=lambda w: code_of("beyond_ram/collected.py"),
    script:
        "../scripts/collect.py"
