"""Runs, collected into two files per experiment.

Needs: runs. Makes: collected/EXPERIMENT. Always holds: a run's folder is read once.
"""


rule collect:
    input:
        run_jsons=lambda w: runs_for([f"{COLLECTED}/{w.experiment}.stamps.json"], run_jsons(w.experiment)),
        further=lambda w: FURTHER[:1] if w.experiment in repeated() else [],
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
        runs=RUNS,
        code=lambda w: code_of("beyond_ram/records/collected.py"),
    script:
        "../scripts/collect.py"
