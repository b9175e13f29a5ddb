"""Runs: one rule for every workload, and hashes of its code.

Needs: stacks, corpora. Makes: a folder a run, specs/code/EXPERIMENT. Always holds: a measuring job runs alone on the
machine; its files are private, and removed when the run is recorded.
"""


wildcard_constraints:
    run=experiment.run_pattern(CONFIG.run()),


localrules:
    code,


rule code:
    input:
        lambda w: code_in(w.experiment, w.of),
    output:
        f"{SPECS}/code/{{experiment}}/{{of}}.sha256",
    log:
        f"{RESULTS}/logs/code/{{experiment}}.{{of}}.log",
    wildcard_constraints:
        experiment=experiment.NAME,
        of="[^/]+",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    shell:
        "sha256sum {input:q} > {output:q} 2> {log:q}"


rule weigh:
    input:
        unpack(lambda w: weigh_input(cell_of(w.run))),
    output:
        run_files("{run}"),
    log:
        f"{RESULTS}/logs/{{run}}.log",
    priority: lambda w: in_turn(cell_of(w.run))
    conda:
        (lambda w: conda_of(cell_of(w.run)["stack"])) if CONDA else DRIVER_ENV
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_mb(cell_of(w.run), attempt),
    params:
        **weigh_params(lambda w: [cell_of(w.run)]),
    shell:
        WEIGH
