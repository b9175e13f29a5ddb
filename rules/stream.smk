"""Streaming: what it asks of an endpoint, of memory and of time.

Needs: the stack `corpora`, runs. Makes: repositories/NAME, tables `streaming` and `claims`, claims.html, four figures. Always holds:
every row of a repository carries its number, and each run has an endpoint of its own.
"""

STREAMED = CONFIG.named("stream")


wildcard_constraints:
    repository="|".join(map(re.escape, CONFIG.repositories)) or "-",


rule repository:
    input:
        lock=lambda w: lock_of(CONFIG.repositories[w.repository].STACK),
        environment=lambda w: environment_of(CONFIG.repositories[w.repository].STACK),
        program=lambda w: f"scripts/repositories/{CONFIG.repositories[w.repository].source}.py",
        helper="scripts/repositories/repository.py",
    output:
        manifest=f"{REPOSITORIES}/{{repository}}/manifest.json",
    log:
        f"{RESULTS}/logs/repositories/{{repository}}.log",
    conda:
        lambda w: conda_of(CONFIG.repositories[w.repository].STACK)
    params:
        python=lambda w: python_of(CONFIG.repositories[w.repository].STACK),
        spec=lambda w: json.dumps(CONFIG.repositories[w.repository].spec()),
    shell:
        "{params.python} {input.program} --name {wildcards.repository} --spec {params.spec:q} "
        "--out $(dirname {output.manifest}) 2> {log}"


rule streaming:
    input:
        runs=run_jsons(*STREAMED),
    output:
        table("streaming"),
    log:
        f"{RESULTS}/logs/tables/streaming.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/streaming.py"


rule claims:
    input:
        runs=run_jsons(*STREAMED),
        dedup=f"{TABLES}/dedup.parquet",
        hub_files=f"{TABLES}/hub_files.parquet",
        spark=f"{TABLES}/spark.parquet",
    output:
        table("claims"),
    log:
        f"{RESULTS}/logs/tables/claims.log",
    conda:
        "../envs/driver.yaml"
    params:
        pairs=CLAIMED,
    script:
        "../scripts/tables/claims.py"


rule claims_page:
    input:
        claims=f"{TABLES}/claims.parquet",
        template="report/claims.html.jinja",
    output:
        report(
            f"{RESULTS}/claims.html",
            category="Streaming",
            labels={"page": "claims and what was measured"},
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/claims.py"


rule requests_by_workers:
    input:
        streaming=f"{TABLES}/streaming.parquet",
    output:
        **figure("requests_by_workers", "Streaming", "What a Hub is asked"),
    log:
        f"{RESULTS}/logs/figures/requests_by_workers.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/requests_by_workers.py"


rule worker_memory:
    input:
        streaming=f"{TABLES}/streaming.parquet",
    output:
        **figure("worker_memory", "Streaming", "Memory of a process that streams"),
    log:
        f"{RESULTS}/logs/figures/worker_memory.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/worker_memory.py"


rule prefetch_gain:
    input:
        streaming=f"{TABLES}/streaming.parquet",
    output:
        **figure("prefetch_gain", "Streaming", "What reading ahead gains"),
    log:
        f"{RESULTS}/logs/figures/prefetch_gain.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/prefetch_gain.py"


rule break_even:
    input:
        streaming=f"{TABLES}/streaming.parquet",
    output:
        **figure("break_even", "Streaming", "Streaming or a copy on disk"),
    log:
        f"{RESULTS}/logs/figures/break_even.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/break_even.py"


TABLE_NAMES += ["streaming", "claims"]


rule stream:
    input:
        rules.streaming.output,
        rules.claims.output,
        rules.claims_page.output,
        rules.requests_by_workers.output,
        rules.worker_memory.output,
        rules.prefetch_gain.output,
        rules.break_even.output,
        rules.dedup.input,
        rules.hub_files.input,
        rules.spark.input,
