"""Runs: one rule for every workload.

Needs: stacks, corpora. Makes: a folder a run. Always holds: a measuring job is alone on the machine; what a run leaves
behind is private, and gone when the run is recorded.
"""


wildcard_constraints:
    run=experiment.run_pattern(CONFIG.run()),


rule weigh:
    input:
        unpack(lambda w: weigh_input(experiment.parse(w.run))),
    output:
        run_files("{run}"),
    log:
        f"{RESULTS}/logs/{{run}}.log",
    priority: lambda w: repeat_first(experiment.parse(w.run))
    conda:
        lambda w: conda_of(experiment.parse(w.run)["stack"])
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_mb(experiment.parse(w.run), attempt),
    params:
        **weigh_params(lambda w: [experiment.parse(w.run)]),
    shell:
        WEIGH
