"""Runs, collected into two files per experiment.

Needs: runs. Makes: collected/EXPERIMENT. Always holds: a run's folder is read once.
"""


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
