"""Version ladders: one package varied, all else locked; each step bisected down to two neighbouring releases.

Needs: a package index, runs of varied stacks. Makes: locks of varied stacks, rounds, table `ladders`, a figure. Always
holds: a varied stack differs from its base in the one package and what that needs, and names what had to move; what
cannot be is not run.
"""

LADDERS = CONFIG.running_ladders()


def ladder_runs(name, versions):
    """run.json of the cells of a version ladder with some versions."""
    ladder = LADDERS[name]
    cells = CONFIG.cells(ladder.experiment)
    return [f"{RUNS}/{cell.path}/run.json" for version in versions for cell in ladder.cells(cells, version)]


def ladder_folder(name):
    """The folder of a version ladder."""
    asked = [LADDERS[name].model_dump_json(), *ladder_runs(name, LADDERS[name].versions)]
    return folder_of_rounds("ladders", name, asked)


def ladder_round(name, number):
    """What a bisection round has decided."""
    return round_of("ladder_round", ladder=name, spec=os.path.basename(ladder_folder(name)), round=number)


def runs_of_ladder(name):
    """The runs of a version ladder when its last bisection round has nothing more to ask."""
    decided = last_round("ladder_round", ladder=name, spec=os.path.basename(ladder_folder(name)))
    return ladder_runs(name, decided["versions"])


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
        code=closure("scripts/rounds/ladder.py", workflow.basedir),
    output:
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/round~{{round}}.json",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/{{spec}}/round~{{round}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        ladder=lambda w: LADDERS[w.ladder].model_dump(mode="json"),
    script:
        "../scripts/rounds/ladder.py"


rule ladder_steps:
    input:
        runs=lambda w: runs_of_ladder(w.ladder),
        releases=f"{RESULTS}/ladders/{{ladder}}/{{spec}}/releases.json",
        code=closure("scripts/tables/ladder.py", workflow.basedir),
    output:
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/steps.csv",
        f"{RESULTS}/ladders/{{ladder}}/{{spec}}/steps.parquet",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/{{spec}}/steps.log",
    conda:
        "../envs/driver.yaml"
    params:
        ladder=lambda w: LADDERS[w.ladder].model_dump(mode="json"),
    script:
        "../scripts/tables/ladder.py"


rule ladders_table:
    input:
        steps=[f"{ladder_folder(name)}/steps.parquet" for name in LADDERS],
        code=closure("scripts/tables/ladders.py", workflow.basedir),
    output:
        table("ladders"),
    log:
        f"{RESULTS}/logs/tables/ladders.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/ladders.py"


VARIED = [CONFIG.experiments[ladder.experiment] for ladder in LADDERS.values()]
OUTPUTS.add(
    "ladders",
    "Explanation",
    covers=lambda found: any(found is varied for varied in VARIED),
    tables=["ladders"],
    figures={"versions": Figure("From version to version")},
)
