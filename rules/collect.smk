"""Runs, collected into two files per experiment.

Needs: runs. Makes: collected/EXPERIMENT. Always holds: a run's folder is read once.
"""


def collected(name):
    """Collected runs, their samples, and their stamps."""
    return [f"{COLLECTED}/{name}.{kind}" for kind in ("runs.parquet", "samples.parquet", "stamps.json")]


rule collect:
    input:
        run_jsons=lambda w: runs_for(collected(w.experiment), run_jsons(w.experiment)),
        further=lambda w: available(FURTHER[:1]) if w.experiment in repeated() else [],
        code=closure("beyond_ram/collected.py", workflow.basedir),
    output:
        **dict(zip(("runs", "samples", "stamps"), collected("{experiment}"))),
    log:
        f"{RESULTS}/logs/collected/{{experiment}}.log",
    wildcard_constraints:
        experiment=experiment.NAME,
    conda:
        "../envs/driver.yaml"
    params:
        lost=lambda w: [file for file in run_jsons(w.experiment) if file in LOST],
        runs=RUNS,
        code=lambda w: code_of("beyond_ram/collected.py"),
    script:
        "../scripts/collect.py"
