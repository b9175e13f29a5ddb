"""Runs: one rule for every workload.

Needs: stacks, corpora. Makes: a folder a run. Always holds: a measuring job runs alone on the machine; its files are
private, and removed when the run is recorded; a run whose code or lock has another content, or that is gone, is made
again.
"""


wildcard_constraints:
    run=experiment.run_pattern(CONFIG.run()),


rule measure:
    input:
        unpack(known(lambda w: measure_input(cell_of(w.run)))),
    output:
        run_files("{run}"),
    log:
        f"{RESULTS}/logs/{{run}}.log",
    priority: known(lambda w: in_turn(cell_of(w.run)))
    conda:
        (lambda w: conda_of(cell_of(w.run)["stack"])) if CONDA else DRIVER_ENV
    resources:
        slots=ALL_SLOTS,
        mem_mb=known(lambda w, attempt: request_mb(cell_of(w.run), attempt)),
    params:
        command=known(lambda w: measuring([cell_of(w.run)])),
    shell:
        MEASURE
