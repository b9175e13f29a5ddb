"""Streaming: requests, memory and time.

Needs: the stack `corpora`, runs. Makes: repositories/NAME, table `streaming`, two figures. Always holds: every row,
sample and frame of a repository contains its number, and each run has its own endpoint.
"""


wildcard_constraints:
    repository="|".join(map(re.escape, CONFIG.repositories)) or "-",


rule repository:
    input:
        lock=lambda w: lock_of(CONFIG.repositories[w.repository].STACK),
        environment=lambda w: environment_of(CONFIG.repositories[w.repository].STACK),
        program=lambda w: f"scripts/repositories/{CONFIG.repositories[w.repository].source}.py",
    output:
        manifest=f"{REPOSITORIES}/{{repository}}/manifest.json",
    log:
        f"{RESULTS}/logs/repositories/{{repository}}.log",
    priority: BEFORE_RUNS
    conda:
        lambda w: conda_of(CONFIG.repositories[w.repository].STACK)
    params:
        python=lambda w: python_of(CONFIG.repositories[w.repository].STACK),
        out=lambda w, output: os.path.dirname(output.manifest),
        spec=f"{SPECS}/repositories/{{repository}}.json",
        content=lambda w: CONFIG.repositories[w.repository].spec(),
        code=lambda w: code_of(
            f"scripts/repositories/{CONFIG.repositories[w.repository].source}.py",
            others=[lock_of(CONFIG.repositories[w.repository].STACK)],
        ),
    shell:
        "beyond-ram make --out {params.out:q} -- {params.python:q} {input.program:q} "
        "--name {wildcards.repository:q} --spec {params.spec:q} 2> {log:q}"


OUTPUTS.add(
    "stream",
    "Streaming",
    covers=lambda one: one.workload == "stream",
    tables=["streaming"],
    figures={
        "streaming_cost": Figure(
            "What streaming costs",
            varies("stack"),
            "What does streaming cost, and what did it cost before?",
        ),
        "requests_by_workers": Figure("What a Hub is asked"),
    },
)
