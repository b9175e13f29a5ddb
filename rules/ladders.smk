"""Version sweeps: one package varied, all else locked; each step bisected down to two neighbouring releases.

Needs: a package index, runs of varied stacks. Makes: locks of varied stacks, rounds, table `ladders`, a figure. Always
holds: a varied stack differs from its base in the one package and what that needs, and names what had to move; what
cannot be is not run.
"""


wildcard_constraints:
    sweep="|".join(SWEEPS) or "-",
    round=r"\d+",
    variant=r"[^/+]+\+[^/]+",


rule variant:
    input:
        lock=lambda w: f"envs/{stacks.parts_of(w.variant)[0]}.txt",
        requirements=lambda w: f"envs/{stacks.parts_of(w.variant)[0]}.in",
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
        f"{RESULTS}/ladders/{{sweep}}/releases.json",
    log:
        f"{RESULTS}/logs/ladders/{{sweep}}/releases.log",
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
        releases=f"{RESULTS}/ladders/{{sweep}}/releases.json",
        runs=lambda w: (sweep_runs(w.sweep, round_of(w.sweep, int(w.round) - 1)["versions"]) if int(w.round) else []),
    output:
        f"{RESULTS}/ladders/{{sweep}}/round~{{round}}.json",
    log:
        f"{RESULTS}/logs/ladders/{{sweep}}/round~{{round}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        sweep=lambda w: SWEEPS[w.sweep].model_dump(mode="json"),
    script:
        "../scripts/tables/sweep_round.py"


rule ladders_table:
    input:
        runs=lambda w: [run for name in SWEEPS for run in runs_of_sweep(name)],
        releases=[f"{RESULTS}/ladders/{name}/releases.json" for name in SWEEPS],
    output:
        table("ladders"),
    log:
        f"{RESULTS}/logs/tables/ladders.log",
    conda:
        "../envs/driver.yaml"
    params:
        sweeps=lambda w: {
            name: sweep.model_dump(mode="json")
            | {
                "releases": f"{RESULTS}/ladders/{name}/releases.json",
                "runs": runs_of_sweep(name),
            }
            for name, sweep in SWEEPS.items()
        },
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
