"""Ladders of versions: one package varied, all else locked; each step narrowed down to two neighbouring releases.

Needs: a package index, runs of varied stacks. Makes: locks of varied stacks, rounds, table `ladders`, a figure. Always
holds: a varied stack differs from its base in the one package and what that needs; what cannot be is not run.
"""


wildcard_constraints:
    ladder="|".join(LADDERS) or "-",
    round=r"\d+",
    variant=r"[^/+]+\+[^/]+",


rule variant:
    input:
        lock=lambda w: f"envs/{stacks.parts_of(w.variant)[0]}.txt",
        asked=lambda w: f"envs/{stacks.parts_of(w.variant)[0]}.in",
    output:
        ".stacks/locks/{variant}.txt",
    log:
        f"{RESULTS}/logs/stacks/{{variant}}.lock.log",
    conda:
        "../envs/driver.yaml"
    shell:
        "beyond-ram stack vary {wildcards.variant:q} {output:q} 2> {log:q}"


rule releases:
    output:
        f"{RESULTS}/ladders/{{ladder}}/releases.json",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/releases.log",
    conda:
        "../envs/driver.yaml"
    params:
        package=lambda w: LADDERS[w.ladder].package,
    shell:
        "beyond-ram stack releases {params.package:q} > {output:q} 2> {log:q}"


checkpoint ladder_round:
    input:
        releases=f"{RESULTS}/ladders/{{ladder}}/releases.json",
        runs=lambda w: (
            ladder_runs(w.ladder, round_of(w.ladder, int(w.round) - 1)["versions"])
            if int(w.round)
            else []
        ),
    output:
        f"{RESULTS}/ladders/{{ladder}}/round~{{round}}.json",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/round~{{round}}.log",
    conda:
        "../envs/driver.yaml"
    params:
        ladder=lambda w: LADDERS[w.ladder].model_dump(mode="json"),
    script:
        "../scripts/tables/ladder_round.py"


rule ladders_table:
    input:
        runs=lambda w: [run for name in LADDERS for run in climbed(name)],
        releases=[f"{RESULTS}/ladders/{name}/releases.json" for name in LADDERS],
    output:
        table("ladders"),
    log:
        f"{RESULTS}/logs/tables/ladders.log",
    conda:
        "../envs/driver.yaml"
    params:
        ladders=lambda w: {
            name: ladder.model_dump(mode="json")
            | {
                "releases": f"{RESULTS}/ladders/{name}/releases.json",
                "runs": climbed(name),
            }
            for name, ladder in LADDERS.items()
        },
    script:
        "../scripts/tables/ladders.py"


SWEPT = [CONFIG.experiments[ladder.experiment] for ladder in LADDERS.values()]
OUTPUTS.add(
    Chapter(
        "ladders",
        "Explanation",
        covers=lambda found: any(found is swept for swept in SWEPT),
        tables=["ladders"],
        figures={"versions": Figure("From version to version")},
    )
)
