"""Corpora: text files with a manifest, and a tokenizer each.

Needs: the stack `corpora`. Makes: corpora/NAME/files, corpora/NAME/manifest.json, corpora/NAME/tokenizer. Always holds:
the manifest comes last, and names every file with its bytes and hash.
"""


rule corpus:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program=lambda w: f"scripts/corpora/{CONFIG.corpora[w.corpus].source}.py",
        helpers=["scripts/corpora/shards.py", "scripts/corpora/columns.py"],
    output:
        manifest=f"{CORPORA}/{{corpus}}/manifest.json",
        files=directory(f"{CORPORA}/{{corpus}}/files"),
    log:
        f"{RESULTS}/logs/corpora/{{corpus}}.log",
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        spec=lambda w: json.dumps(CONFIG.corpora[w.corpus].spec()),
    shell:
        "{params.python} {input.program} --name {wildcards.corpus} --spec {params.spec:q} "
        "--out $(dirname {output.manifest}) 2> {log}"


rule tokenizer:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program="scripts/corpora/tokenizer.py",
        helpers=[f"scripts/corpora/{name}.py" for name in ("shards", "columns", "hub")],
        manifest=f"{CORPORA}/{{corpus}}/manifest.json",
    output:
        directory=directory(f"{CORPORA}/{{corpus}}/tokenizer"),
    log:
        f"{RESULTS}/logs/corpora/{{corpus}}.tokenizer.log",
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        spec=lambda w: json.dumps(CONFIG.corpora[w.corpus].tokenizer.spec()),
    shell:
        "{params.python} {input.program} --spec {params.spec:q} --corpus $(dirname {input.manifest}) "
        "--out {output.directory} 2> {log}"
