"""Why memory grew: who let it go, what repeating adds, what remedies do, and the verdict of every cell.

Needs: runs, each of which ends with a release ladder. Makes: tables `owners`, `verdicts`, `regrowth`, `remedies`, four
figures. Always holds: a verdict comes from the rules in docs/explain.md, and from nothing else.
"""

FINISHED = run_jsons(*CONFIG.experiments)


rule owners:
    input:
        runs=FINISHED,
    output:
        table("owners"),
    log:
        f"{RESULTS}/logs/tables/owners.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/owners.py"


rule verdicts:
    input:
        runs=FINISHED,
    output:
        table("verdicts"),
    log:
        f"{RESULTS}/logs/tables/verdicts.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/verdicts.py"


rule regrowth:
    input:
        runs=FINISHED,
    output:
        table("regrowth"),
    log:
        f"{RESULTS}/logs/tables/regrowth.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/regrowth.py"


rule remedies:
    input:
        runs=f"{TABLES}/runs.parquet",
    output:
        table("remedies"),
    log:
        f"{RESULTS}/logs/tables/remedies.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/remedies.py"


rule who_holds_it:
    input:
        owners=f"{TABLES}/owners.parquet",
        verdicts=f"{TABLES}/verdicts.parquet",
    output:
        **figure("who_holds_it", "Explanation", "Who holds the memory"),
    log:
        f"{RESULTS}/logs/figures/who_holds_it.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/who_holds_it.py"


rule memory_by_epoch:
    input:
        runs=FINISHED,
        regrowth=f"{TABLES}/regrowth.parquet",
    output:
        **figure("memory_by_epoch", "Explanation", "The same work again and again"),
    log:
        f"{RESULTS}/logs/figures/memory_by_epoch.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/memory_by_epoch.py"


rule what_helps:
    input:
        remedies=f"{TABLES}/remedies.parquet",
    output:
        **figure("what_helps", "Explanation", "What remedies do"),
    log:
        f"{RESULTS}/logs/figures/what_helps.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/what_helps.py"


rule encoders:
    input:
        runs=f"{TABLES}/runs.parquet",
    output:
        **figure("encoders", "Explanation", "Ways to the same ids"),
    log:
        f"{RESULTS}/logs/figures/encoders.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/encoders.py"


TABLE_NAMES += ["owners", "verdicts", "regrowth", "remedies"]


rule explain:
    input:
        rules.owners.output,
        rules.verdicts.output,
        rules.regrowth.output,
        rules.remedies.output,
        rules.who_holds_it.output,
        rules.memory_by_epoch.output,
        rules.what_helps.output,
        rules.encoders.output,
