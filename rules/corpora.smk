"""Corpora: text files with a manifest, and a tokenizer each.

Needs: the stack `corpora`. Makes: corpora/NAME/files, corpora/NAME/manifest.json, corpora/NAME/tokenizer. Always holds:
the manifest is written last, and lists every file with its bytes and hash.
"""


rule corpus:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program=lambda w: f"scripts/corpora/{CONFIG.corpora[w.corpus].source}.py",
    output:
        manifest=f"{CORPORA}/{{corpus}}/manifest.json",
        files=directory(f"{CORPORA}/{{corpus}}/files"),
    log:
        f"{RESULTS}/logs/corpora/{{corpus}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        out=lambda w, output: os.path.dirname(output.manifest),
        spec=f"{SPECS}/corpora/{{corpus}}.json",
        content=lambda w: CONFIG.corpora[w.corpus].spec(),
        code=lambda w: corpus_code(CONFIG.corpora[w.corpus].source),
    shell:
        "beyond-ram make --out {params.out:q} -- {params.python:q} {input.program:q} "
        "--name {wildcards.corpus:q} --spec {params.spec:q} 2> {log:q}"


rule tokenizer:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program="scripts/corpora/tokenizer.py",
        manifest=f"{CORPORA}/{{corpus}}/manifest.json",
    output:
        directory=directory(f"{CORPORA}/{{corpus}}/tokenizer"),
    log:
        f"{RESULTS}/logs/corpora/{{corpus}}.tokenizer.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        corpus=lambda w, input: os.path.dirname(input.manifest),
        spec=f"{SPECS}/tokenizers/{{corpus}}.json",
        content=lambda w: CONFIG.corpora[w.corpus].tokenizer.spec(),
        code=lambda w: code_of("scripts/corpora/tokenizer.py", others=[lock_of("corpora")]),
    shell:
        "beyond-ram make --out {output.directory:q} -- {params.python:q} {input.program:q} "
        "--spec {params.spec:q} --corpus {params.corpus:q} 2> {log:q}"
