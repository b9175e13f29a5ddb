"""Loading for training: token datasets, their formats, and what loaders deliver from them.

Needs: stacks, corpora where a dataset is cut from one. Makes: tokens/NAME/FORMAT, tables `loaders`, `writers` and
`ranks`, figures. Always holds: all formats of a dataset hold the same rows, and every delivered row is accounted for.
"""


wildcard_constraints:
    tokens=experiment.NAME,
    format="|".join(experiment.tokens.formats()),


rule tokens:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program="scripts/workloads/make_tokens.py",
        helpers=[f"scripts/workloads/{name}.py" for name in ("events", "pieces")],
        corpus=lambda w: corpus_of_tokens(w.tokens),
    output:
        described=f"{TOKENS}/{{tokens}}/tokens.json",
        sums=f"{TOKENS}/{{tokens}}/sums.npy",
        npy=directory(f"{TOKENS}/{{tokens}}/npy"),
    log:
        f"{RESULTS}/logs/tokens/{{tokens}}.log",
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        spec=lambda w: CONFIG.tokens[w.tokens].model_dump_json(),
        corpus=lambda w: (
            f"--corpus {CORPORA}/{CONFIG.tokens[w.tokens].corpus}"
            if CONFIG.tokens[w.tokens].corpus
            else ""
        ),
    shell:
        "{params.python} {input.program} --spec {params.spec:q} {params.corpus} --out $(dirname {output.described}) 2> {log}"


rule tokens_in_format:
    input:
        lock=lambda w: lock_of(experiment.tokens.writer_stack(w.format)),
        environment=lambda w: environment_of(experiment.tokens.writer_stack(w.format)),
        program="scripts/workloads/write.py",
        module="scripts/workloads/formats/{format}.py",
        described=f"{TOKENS}/{{tokens}}/tokens.json",
        npy=f"{TOKENS}/{{tokens}}/npy",
    output:
        directory(f"{TOKENS}/{{tokens}}/{{format}}"),
    log:
        f"{RESULTS}/logs/tokens/{{tokens}}.{{format}}.log",
    conda:
        lambda w: f"../envs/{experiment.tokens.writer_stack(w.format)}.yaml"
    params:
        python=lambda w: python_of(experiment.tokens.writer_stack(w.format)),
    shell:
        "{params.python} {input.program} --tokens-dir $(dirname {input.described}) --format {wildcards.format} "
        "--work-dir $(dirname {input.described}) > {log} 2>&1"


ruleorder: tokens > tokens_in_format


LOADED = run_jsons(*CONFIG.named("load"))


rule loaders:
    input:
        runs=LOADED,
    output:
        table("loaders"),
    log:
        f"{RESULTS}/logs/tables/loaders.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/loaders.py"


rule writers:
    input:
        runs=run_jsons(*CONFIG.named("write")),
    output:
        table("writers"),
    log:
        f"{RESULTS}/logs/tables/writers.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/writers.py"


rule ranks:
    input:
        runs=run_jsons(*CONFIG.named("ranks")),
    output:
        table("ranks"),
    log:
        f"{RESULTS}/logs/tables/ranks.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/ranks.py"


rule choices:
    input:
        loaders=f"{TABLES}/loaders.parquet",
    output:
        table("choices"),
    log:
        f"{RESULTS}/logs/tables/choices.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/choices.py"


rule loading_cost:
    input:
        loaders=f"{TABLES}/loaders.parquet",
    output:
        **figure("loading_cost", "Loading", "Loading: rows against memory"),
    log:
        f"{RESULTS}/logs/figures/loading_cost.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/loading_cost.py"


rule loading_workers:
    input:
        loaders=f"{TABLES}/loaders.parquet",
    output:
        **figure("loading_workers", "Loading", "Loading: memory by workers"),
    log:
        f"{RESULTS}/logs/figures/loading_workers.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/loading_workers.py"


rule loading_cache:
    input:
        loaders=f"{TABLES}/loaders.parquet",
    output:
        **figure("loading_cache", "Loading", "Loading: cold and warm"),
    log:
        f"{RESULTS}/logs/figures/loading_cache.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/loading_cache.py"


rule loading_accounts:
    input:
        loaders=f"{TABLES}/loaders.parquet",
    output:
        **figure("loading_accounts", "Loading", "Loading: every row accounted for"),
    log:
        f"{RESULTS}/logs/figures/loading_accounts.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/loading_accounts.py"


rule loading_limit:
    input:
        loaders=f"{TABLES}/loaders.parquet",
    output:
        **figure("loading_limit", "Loading", "Loading: less memory than data"),
    log:
        f"{RESULTS}/logs/figures/loading_limit.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/loading_limit.py"


rule choice_table:
    input:
        choices=f"{TABLES}/choices.parquet",
        template="report/choices.html.jinja",
    output:
        report(
            f"{RESULTS}/choices.html",
            category="Loading",
            labels={"page": "which loader to choose"},
        ),
    log:
        f"{RESULTS}/logs/choices.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/choices.py"


TABLE_NAMES += ["loaders", "writers", "ranks", "choices"]


rule load:
    input:
        rules.loaders.output,
        rules.writers.output,
        rules.ranks.output,
        rules.choice_table.output,
        rules.loading_cost.output,
        rules.loading_workers.output,
        rules.loading_cache.output,
        rules.loading_accounts.output,
        rules.loading_limit.output,
