"""Tokenisation with `Dataset.map`: cold, interrupted, rerun and warm.

Needs: stacks, corpora. Makes: a folder a run, tables `growth` and `shards`, four figures. Always holds: a measuring job
is alone on the machine; a run's cache is private, and gone when the run is recorded.
"""

TOKENIZE = CONFIG.named("tokenize")


wildcard_constraints:
    **experiment.tokenize_constraints(TOKENIZE),


rule weigh_tokenize:
    input:
        unpack(tokenize_input),
    output:
        run_files("{tokenize_head}/cache~{cache}/{tokenize_tail}"),
    log:
        f"{RESULTS}/logs/{{tokenize_head}}/cache~{{cache}}/{{tokenize_tail}}.log",
    conda:
        lambda w: f"../envs/{tokenize_cell(w)['stack']}.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_mb(tokenize_cell(w), attempt),
    params:
        **weigh_params(tokenize_cell),
    shell:
        f"{WEIGH} --workload {{input.workload}} --corpus $(dirname {{input.manifest}}) "
        "{wildcards.tokenize_head}/cache~{wildcards.cache}/{wildcards.tokenize_tail} 2> {log}"


rule weigh_tokenize_interrupted:
    input:
        unpack(tokenize_input),
    output:
        run_files("{tokenize_head}/cache~interrupted/{tokenize_tail}"),
        run_files("{tokenize_head}/cache~rerun/{tokenize_tail}"),
    log:
        f"{RESULTS}/logs/{{tokenize_head}}/cache~interrupted/{{tokenize_tail}}.log",
    conda:
        lambda w: f"../envs/{tokenize_cell(w)['stack']}.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_mb(tokenize_cell(w), attempt),
    params:
        **weigh_params(tokenize_cell),
    shell:
        f"{WEIGH} --workload {{input.workload}} --corpus $(dirname {{input.manifest}}) "
        "{wildcards.tokenize_head}/cache~interrupted/{wildcards.tokenize_tail} "
        "{wildcards.tokenize_head}/cache~rerun/{wildcards.tokenize_tail} 2> {log}"


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
