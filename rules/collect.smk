"""Runs, collected into two files per experiment.

Needs: runs. Makes: collected/EXPERIMENT. Always holds: a run's folder is read once.
"""


rule collect:
    input:
        run_jsons=lambda w: run_jsons(w.experiment),
        code=closure("beyond_ram/collected.py", workflow.basedir),
    output:
        f"{COLLECTED}/{{experiment}}.runs.parquet",
        f"{COLLECTED}/{{experiment}}.samples.parquet",
    log:
        f"{RESULTS}/logs/collected/{{experiment}}.log",
    wildcard_constraints:
        experiment=experiment.NAME,
    conda:
        "../envs/driver.yaml"
    params:
        lost=lambda w: lost_runs(w.experiment),
    script:
        "../scripts/collect.py"
