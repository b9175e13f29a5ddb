"""Tokenisation with `Dataset.map`: interrupted runs and their reruns, and what all runs show.

Needs: stacks, corpora, runs. Makes: interrupted runs and reruns, tables `growth` and `shards`, four figures.
"""

TOKENIZE = CONFIG.named("tokenize")
INTERRUPTED = experiment.interrupted_pattern(CONFIG.run())


wildcard_constraints:
    interrupted_head=INTERRUPTED["head"],
    interrupted_tail=INTERRUPTED["tail"],


rule weigh_interrupted:
    input:
        unpack(lambda w: weigh_input(interrupted_cell(w))),
    output:
        run_files("{interrupted_head}/cache~interrupted/{interrupted_tail}"),
        run_files("{interrupted_head}/cache~rerun/{interrupted_tail}"),
    log:
        f"{RESULTS}/logs/{{interrupted_head}}/cache~interrupted/{{interrupted_tail}}.log",
    conda:
        lambda w: f"../envs/{interrupted_cell(w)['stack']}.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_mb(interrupted_cell(w), attempt),
    params:
        **weigh_params(interrupted_cell),
    shell:
        f"{WEIGH} {{wildcards.interrupted_head}}/cache~interrupted/{{wildcards.interrupted_tail}} "
        "{wildcards.interrupted_head}/cache~rerun/{wildcards.interrupted_tail} 2> {log}"


rule tokenize_growth:
    input:
        runs=run_jsons(*TOKENIZE),
    output:
        table("growth"),
    log:
        f"{RESULTS}/logs/tables/growth.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/growth.py"


rule tokenize_shards:
    input:
        runs=run_jsons(*TOKENIZE),
    output:
        table("shards"),
    log:
        f"{RESULTS}/logs/tables/shards.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/shards.py"


rule memory_over_time:
    input:
        runs=run_jsons(*TOKENIZE),
    output:
        **figure("memory_over_time", "Tokenisation", "Memory over time"),
    log:
        f"{RESULTS}/logs/figures/memory_over_time.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/memory_over_time.py"


rule growth_by_input:
    input:
        runs=f"{TABLES}/runs.parquet",
        growth=f"{TABLES}/growth.parquet",
    output:
        **figure("growth_by_input", "Tokenisation", "Memory against input"),
    log:
        f"{RESULTS}/logs/figures/growth_by_input.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/growth_by_input.py"


rule staircase:
    input:
        shards=f"{TABLES}/shards.parquet",
    output:
        **figure("staircase", "Tokenisation", "Cold, interrupted, rerun and warm"),
    log:
        f"{RESULTS}/logs/figures/staircase.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/staircase.py"


rule peak_by_batch:
    input:
        runs=f"{TABLES}/runs.parquet",
    output:
        **figure("peak_by_batch", "Tokenisation", "Peak against batch sizes"),
    log:
        f"{RESULTS}/logs/figures/peak_by_batch.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/peak_by_batch.py"


TABLE_NAMES += ["growth", "shards"]
