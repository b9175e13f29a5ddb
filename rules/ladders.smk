"""Version ladders: one package varies, everything else is locked; a search finds the releases that changed a metric.

Needs: a package index, the data of the cells. Makes: locks of varied stacks and their runs, table `ladders`, a figure.
Always holds: a varied stack differs from its base only in this package and what it needs, and lists what moved; versions
that cannot be locked are not run; one job runs all versions, and goes on after the last complete block of the call before.
"""

OUTPUT_OF_LADDERS = *table("ladders"), f"{RESULTS}/ladders/stamps.json"


wildcard_constraints:
    ladder="|".join(LADDERS) or "-",


rule releases:
    output:
        f"{RESULTS}/ladders/{{ladder}}/releases.json",
    log:
        f"{RESULTS}/logs/ladders/{{ladder}}/releases.log",
    priority: BEFORE_RUNS + 1
    conda:
        "../envs/driver.yaml"
    params:
        package=lambda w: LADDERS[w.ladder].package,
        named=lambda w: LADDERS[w.ladder].versions,
    shell:
        "beyond-ram stack releases {params.package:q} {params.named:q} > {output:q} 2> {log:q}"


rule ladder:
    input:
        releases=[f"{RESULTS}/ladders/{name}/releases.json" for name in LADDERS],
        runs=lambda w: runs_for(OUTPUT_OF_LADDERS, []),
        reads=lambda w: needs_of(cells_of_ladders()),
    output:
        **dict(zip(("csv", "parquet", "stamps"), OUTPUT_OF_LADDERS)),
    log:
        f"{RESULTS}/logs/tables/ladders.log",
    priority: 1  # after the runs of the cells
    conda:
        "../envs/driver.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_of_largest_mb(varied_cells(), attempt),
    params:
        results=lambda w: RESULTS,
        ladders={name: ladder.model_dump(mode="json") for name, ladder in LADDERS.items()},
        cells=lambda w: how_to_run(cells_of_ladders()),
        code=lambda w: code_of("scripts/ladder.py"),
    script:
        "../scripts/ladder.py"


VARIED = [CONFIG.experiments[ladder.experiment] for ladder in LADDERS.values()]
OUTPUTS.add(
    "ladders",
    "Explanation",
    covers=lambda one: any(one is varied for varied in VARIED),
    tables=["ladders"],
    figures={"versions": Figure("From version to version", question="Which release changed the memory?")},
)
