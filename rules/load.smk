"""Loading for training: token datasets, their formats, and loaders.

Needs: stacks. Makes: tokens/NAME/FORMAT, table `loaders`, figures. Always holds: all formats of a dataset have the same rows, and every delivered row is checked.
"""


wildcard_constraints:
    tokens=experiment.NAME,
    format="|".join(experiment.tokens.names_in(experiment.tokens.FORMATS)),


rule tokens:
    input:
        lock=lock_of("corpora"),
        environment=environment_of("corpora"),
        program="scripts/workloads/make_tokens.py",
        file=lambda w: CONFIG.tokens[w.tokens].path or [],
    output:
        described=f"{TOKENS}/{{tokens}}/tokens.json",
        sums=f"{TOKENS}/{{tokens}}/sums.npy",
        npy=directory(f"{TOKENS}/{{tokens}}/npy"),
    log:
        f"{RESULTS}/logs/tokens/{{tokens}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/corpora.yaml"
    params:
        python=python_of("corpora"),
        out=lambda w, output: os.path.dirname(output.described),
        spec=f"{SPECS}/tokens/{{tokens}}.json",
        content=lambda w: CONFIG.tokens[w.tokens].spec(),
        code=lambda w: code_of("scripts/workloads/make_tokens.py", others=[lock_of("corpora")]),
    shell:
        "beyond-ram make --out {params.out:q} -- {params.python:q} {input.program:q} "
        "--spec {params.spec:q} 2> {log:q}"


rule tokens_in_format:
    input:
        lock=lock_of("loaders"),
        environment=environment_of("loaders"),
        program="cases/workflow/write.py",
        described=f"{TOKENS}/{{tokens}}/tokens.json",
        npy=f"{TOKENS}/{{tokens}}/npy",
    output:
        directory(f"{TOKENS}/{{tokens}}/{{format}}"),
    log:
        f"{RESULTS}/logs/tokens/{{tokens}}.{{format}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/loaders.yaml"
    params:
        python=python_of("loaders"),
        tokens=lambda w, input: os.path.dirname(input.described),
        code=lambda w: code_of(
            "scripts/workloads/rows.py",
            f"scripts/workloads/formats/{w.format}.py",
            others=[*code_beside("cases/workflow/write.py"), lock_of("loaders")],
        ),
    shell:
        "beyond-ram make --out {output:q} -- {params.python:q} {input.program:q} "
        "--tokens-dir {params.tokens:q} --format {wildcards.format:q} > {log:q} 2>&1"


ruleorder: tokens > tokens_in_format


OUTPUTS.add(
    "load",
    "Loading",
    covers=lambda one: one.workload == "load",
    tables=["loaders"],
    figures={
        "loading_cost": Figure("Loading: rows against memory"),
        "loading_limit": Figure(
            "Loading: less memory than data",
            lambda one: any(one.matrix.limit_percent),
            "Which loader, if the data exceeds memory?",
        ),
    },
)
