"""Version ladders: one package varies, everything else is locked; steps are bisected to two neighbouring releases.

Needs: a package index, runs of varied stacks. Makes: locks of varied stacks, rounds, table `ladders`, a figure. Always
holds: a varied stack differs from its base only in this package and what it needs, and lists what moved; versions that
cannot be locked are not run.
"""


wildcard_constraints:
    ladder="|".join(LADDERS) or "-",
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
    params:
        base=lambda w: lock_digest(w.variant),
    shell:
        "beyond-ram stack vary {wildcards.variant:q} {output:q} 2> {log:q}"


rule releases:
    output:
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/releases.json",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/{{spec}}/releases.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        package=lambda w: LADDERS[w.ladder].package,
        named=lambda w: LADDERS[w.ladder].versions,
    shell:
        "beyond-ram stack releases {params.package:q} {params.named:q} > {output:q} 2> {log:q}"


checkpoint ladder_round:
    input:
        releases=f"{RESULTS}/ladders/{{ladder}}/{{spec}}/releases.json",
        runs=lambda w: (
            ladder_runs(w.ladder, ladder_round(w.ladder, int(w.round) - 1)["versions"]) if int(w.round) else []
        ),
        rounds=lambda w: [f"{ladder_folder(w.ladder)}/round~{int(w.round) - 1}.json"] if int(w.round) else [],
    output:
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/round~{{round}}.json",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/{{spec}}/round~{{round}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        ladder=lambda w: LADDERS[w.ladder].model_dump(mode="json"),
        code=lambda w: code_of("scripts/rounds/ladder.py"),
    script:
        "../scripts/rounds/ladder.py"


rule ladder_steps:
    input:
        runs=lambda w: runs_of_ladder(w.ladder),
        releases=lambda w: made([f"{RESULTS}/ladders/{w.ladder}/{w.spec}/releases.json"])[0],
    output:
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/steps.csv",
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/steps.parquet",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/{{spec}}/steps.log",
    conda:
        "../envs/driver.yaml"
    params:
        ladder=lambda w: LADDERS[w.ladder].model_dump(mode="json"),
        code=lambda w: code_of("scripts/tables/ladder.py"),
    script:
        "../scripts/tables/ladder.py"


rule ladders_table:
    input:
        steps=[f"{ladder_folder(name)}/steps.parquet" for name in LADDERS],
    output:
        table("ladders"),
    log:
        f"{RESULTS}/logs/tables/ladders.log",
    conda:
        "../envs/driver.yaml"
    params:
        code=lambda w: code_of("scripts/tables/ladders.py"),
    script:
        "../scripts/tables/ladders.py"


VARIED = [CONFIG.experiments[ladder.experiment] for ladder in LADDERS.values()]
OUTPUTS.add(
    "ladders",
    "Explanation",
    covers=lambda one: any(one is varied for varied in VARIED),
    tables=["ladders"],
    figures={"versions": Figure("From version to version", question="Which release changed the memory?")},
)
