"""Version sweeps: one package varied, all else locked; each step bisected down to two neighbouring releases.

Needs: a package index, runs of varied stacks. Makes: locks of varied stacks, rounds, table `ladders`, a figure. Always
holds: a varied stack differs from its base in the one package and what that needs, and names what had to move; what
cannot be is not run.
"""


wildcard_constraints:
    sweep="|".join(SWEEPS) or "-",
    spec="[0-9a-f]{8}",
    round=r"\d+",
    variant=r"[^/+]+\+[^/]+",


rule variant:
    input:
        lock=lambda w: f"envs/{variants.parts_of(w.variant)[0]}.txt",
        requirements=lambda w: f"envs/{variants.parts_of(w.variant)[0]}.in",
    output:
        ".stacks/locks/{variant}.txt",
    log:
        f"{RESULTS}/logs/stacks/{{variant}}.lock.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    shell:
        "beyond-ram stack vary {wildcards.variant:q} {output:q} 2> {log:q}"


rule releases:
    output:
        f"{RESULTS}/ladders/{{sweep}}/{{spec}}/releases.json",
    log:
        f"{RESULTS}/logs/ladders/{{sweep}}/{{spec}}/releases.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        package=lambda w: SWEEPS[w.sweep].package,
        named=lambda w: SWEEPS[w.sweep].versions,
    shell:
        "beyond-ram stack releases {params.package:q} {params.named:q} > {output:q} 2> {log:q}"


checkpoint sweep_round:
    input:
        releases=f"{RESULTS}/ladders/{{sweep}}/{{spec}}/releases.json",
        runs=lambda w: (sweep_runs(w.sweep, round_of(w.sweep, int(w.round) - 1)["versions"]) if int(w.round) else []),
        code=closure("scripts/tables/sweep_round.py", workflow.basedir),
    output:
        f"{RESULTS}/ladders/{{sweep}}/{{spec}}/round~{{round}}.json",
    log:
        f"{RESULTS}/logs/ladders/{{sweep}}/{{spec}}/round~{{round}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        sweep=lambda w: SWEEPS[w.sweep].model_dump(mode="json"),
    script:
        "../scripts/tables/sweep_round.py"


rule sweep_table:
    input:
        runs=lambda w: runs_of_sweep(w.sweep),
        releases=f"{RESULTS}/ladders/{{sweep}}/{{spec}}/releases.json",
        code=closure("scripts/tables/sweep.py", workflow.basedir),
    output:
        f"{RESULTS}/ladders/{{sweep}}/{{spec}}/steps.csv",
        f"{RESULTS}/ladders/{{sweep}}/{{spec}}/steps.parquet",
    log:
        f"{RESULTS}/logs/ladders/{{sweep}}/{{spec}}/steps.log",
    conda:
        "../envs/driver.yaml"
    params:
        sweep=lambda w: SWEEPS[w.sweep].model_dump(mode="json"),
    script:
        "../scripts/tables/sweep.py"


rule ladders_table:
    input:
        steps=[f"{sweep_folder(name)}/steps.parquet" for name in SWEEPS],
        code=closure("scripts/tables/ladders.py", workflow.basedir),
    output:
        table("ladders"),
    log:
        f"{RESULTS}/logs/tables/ladders.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/ladders.py"


SWEPT = [CONFIG.experiments[sweep.experiment] for sweep in SWEEPS.values()]
OUTPUTS.add(
    "ladders",
    "Explanation",
    covers=lambda found: any(found is swept for swept in SWEPT),
    tables=["ladders"],
    figures={"versions": Figure("From version to version")},
)
