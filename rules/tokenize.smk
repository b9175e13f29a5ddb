"""Tokenisation with `Dataset.map`: cold, interrupted, rerun and warm.

Needs: stacks, corpora. Makes: a folder a run, tables `growth` and `shards`, four figures. Always holds: a measuring job
is alone on the machine; a run's cache is private, and gone when the run is recorded.
"""

TOKENIZE = CONFIG.named("tokenize")
TOKENIZE_AXES = experiment.axes("tokenize")
CACHE = TOKENIZE_AXES.index("cache")


wildcard_constraints:
    tokenize_head=f"(?:{'|'.join(TOKENIZE) or '-'})/" + experiment.pattern(TOKENIZE_AXES[:CACHE]),
    tokenize_tail=experiment.pattern(TOKENIZE_AXES[CACHE + 1 :]) + r"/rep~\d+",
    cache="cold|warm",


def tokenize_cell(wildcards):
    return experiment.parse(f"{wildcards.tokenize_head}/cache~{wildcards.get('cache', 'interrupted')}/{wildcards.tokenize_tail}")


def tokenize_input(wildcards):
    cell = tokenize_cell(wildcards)
    return {
        "lock": lock_of(cell["stack"]),
        "environment": environment_of(cell["stack"]),
        "manifest": f"{CORPORA}/{cell['corpus']}/manifest.json",
        "tokenizer": f"{CORPORA}/{cell['corpus']}/tokenizer",
        "workload": "scripts/workloads/tokenize_corpus.py",
        "events": "scripts/workloads/events.py",
    }


def tokenize_params(setting):
    """One of the settings of a cell's experiment or stack, for params."""
    return lambda w: {
        "python": lambda cell: python_of(cell["stack"]),
        "interval_ms": lambda cell: CONFIG.experiments[cell.experiment].interval_ms,
    }[setting](tokenize_cell(w))


def tokenize_memory_mb(wildcards, attempt):
    cell = tokenize_cell(wildcards)
    return experiment.memory.request_mb(RUNS, cell, CONFIG.experiments[cell.experiment].memory_mb, attempt)


WEIGH = (
    "beyond-ram weigh --runs {RUNS} --work {RESULTS}/work --python {params.python} --interval-ms {params.interval_ms} "
    "--lock {input.lock} --workload {input.workload} --corpus $(dirname {input.manifest}) "
)


rule weigh_tokenize:
    input:
        unpack(tokenize_input),
    output:
        run_files("{tokenize_head}/cache~{cache}/{tokenize_tail}"),
    params:
        python=tokenize_params("python"),
        interval_ms=tokenize_params("interval_ms"),
    log:
        f"{RESULTS}/logs/{{tokenize_head}}/cache~{{cache}}/{{tokenize_tail}}.log",
    conda:
        lambda w: f"../envs/{tokenize_cell(w)['stack']}.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=tokenize_memory_mb,
    shell:
        WEIGH + "{wildcards.tokenize_head}/cache~{wildcards.cache}/{wildcards.tokenize_tail} 2> {log}"


rule weigh_tokenize_interrupted:
    input:
        unpack(tokenize_input),
    output:
        run_files("{tokenize_head}/cache~interrupted/{tokenize_tail}"),
        run_files("{tokenize_head}/cache~rerun/{tokenize_tail}"),
    params:
        python=tokenize_params("python"),
        interval_ms=tokenize_params("interval_ms"),
    log:
        f"{RESULTS}/logs/{{tokenize_head}}/cache~interrupted/{{tokenize_tail}}.log",
    conda:
        lambda w: f"../envs/{tokenize_cell(w)['stack']}.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=tokenize_memory_mb,
    shell:
        WEIGH + "{wildcards.tokenize_head}/cache~interrupted/{wildcards.tokenize_tail} "
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
        **figure("memory_over_time", "Tokenisation"),
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
        **figure("growth_by_input", "Tokenisation"),
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
        **figure("staircase", "Tokenisation"),
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
        **figure("peak_by_batch", "Tokenisation"),
    log:
        f"{RESULTS}/logs/figures/peak_by_batch.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/peak_by_batch.py"


TOKENIZE_FIGURES = [
    rules.memory_over_time.output,
    rules.growth_by_input.output,
    rules.staircase.output,
    rules.peak_by_batch.output,
]
