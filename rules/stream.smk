"""Streaming: what it asks of an endpoint, of memory and of time.

Needs: the stack `corpora`, runs. Makes: repositories/NAME, tables `streaming` and `claims`, four figures. Always holds:
every row of a repository carries its number, and each run has an endpoint of its own.
"""

STREAMED = CONFIG.named("stream")


wildcard_constraints:
    repository="|".join(map(re.escape, CONFIG.repositories)) or "-",


rule repository:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program=lambda w: f"scripts/repositories/{CONFIG.repositories[w.repository].source}.py",
    output:
        manifest=f"{REPOSITORIES}/{{repository}}/manifest.json",
    log:
        f"{RESULTS}/logs/repositories/{{repository}}.log",
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        spec=lambda w: json.dumps(CONFIG.repositories[w.repository].spec()),
    shell:
        "{params.python} {input.program} --name {wildcards.repository} --spec {params.spec:q} "
        "--out $(dirname {output.manifest}) 2> {log}"
