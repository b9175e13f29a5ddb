"""Tokenisation with `Dataset.map`: interrupted runs and their reruns, and tables of all runs.

Needs: stacks, corpora, runs. Makes: interrupted runs and reruns, tables `growth` and `shards`, four figures.
"""

INTERRUPTED = experiment.interrupted_pattern(CONFIG.run())


wildcard_constraints:
    interrupted_head=INTERRUPTED["head"],
    interrupted_tail=INTERRUPTED["tail"],


rule measure_interrupted:
    input:
        unpack(lambda w: measure_input(interrupted_cells(w)[0])),
    output:
        run_files("{interrupted_head}/cache~interrupted/{interrupted_tail}"),
        run_files("{interrupted_head}/cache~rerun/{interrupted_tail}"),
    log:
        f"{RESULTS}/logs/{{interrupted_head}}/cache~interrupted/{{interrupted_tail}}.log",
    priority: lambda w: in_turn(interrupted_cells(w)[0])
    conda:
        (lambda w: conda_of(interrupted_cells(w)[0]["stack"])) if CONDA else DRIVER_ENV
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_mb(interrupted_cells(w)[0], attempt),
    params:
        command=lambda w: measuring(interrupted_cells(w)),
    shell:
        MEASURE


OUTPUTS.add(
    "tokenize",
    "Tokenisation",
    covers=lambda one: one.workload == "tokenize"
    and not one.find_limit
    and not varies("remedy")(one)
    and not limited(one),
    over=lambda one: one.workload == "tokenize" and not limited(one),
    tables=["growth", "shards"],
    figures={
        "growth_by_input": Figure(
            "Memory against text",
            has("mode", "basic"),
            "Why does memory climb in map?",
        ),
        "staircase": Figure("Cold, interrupted, rerun and warm", has("cache", "rerun")),
        "peak_by_batch": Figure(
            "Peak against batch sizes and processes",
            varies("batch_size", "writer_batch_size", "num_proc"),
        ),
    },
)
OUTPUTS.add(
    "tokenize",
    "Tokenisation",
    covers=limited,
    figures={
        "attempts": Figure(
            "Killed at a limit, and started again",
            question="Why do shards from the cache cost nothing, and why may a killed job pass when it is started again?",
        ),
    },
)
