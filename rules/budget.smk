"""A budget of time: every cell twice, version ladders, then repeats of cells whose planned questions are undecided.

Needs: runs. Makes: rounds, which request further runs. Always holds: without `budget_min` there is none; the records of
runs and rounds have the used time, so a call continues where another one ended.
"""


wildcard_constraints:
    spec="[0-9a-f]{8}",
    round=r"\d+",


localrules:
    budget,
    budget_round,


checkpoint budget_round:
    input:
        runs=lambda w: budget_runs(int(w.round)),
        ladder_runs=lambda w: [run for name in ladders_within_budget() for run in runs_of_ladder(name)],
        ladder_rounds=lambda w: [last_round_of_ladder(name) for name in ladders_within_budget()],
        rounds=lambda w: [f"{budget_folder()}/round~{int(w.round) - 1}.json"] if int(w.round) else [],
        shipped_spread=outputs.SHIPPED_SPREAD,
    output:
        f"{RESULTS}/rounds/budget/{{spec}}/round~{{round}}.json",
    log:
        f"{RESULTS}/logs/rounds/budget/{{spec}}/round~{{round}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        runs=RUNS,
        repeated=lambda w: repeated(),
        pairs=PAIRS,
        questions=QUESTIONS,
        budget_min=CONFIG.budget_min,
        code=lambda w: code_of("scripts/rounds/budget.py", others=[outputs.SHIPPED_SPREAD]),
    script:
        "../scripts/rounds/budget.py"


rule budget:
    input:
        lambda w: f"{budget_folder()}/round~{last_budget_round()['round']}.json",
    output:
        f"{RESULTS}/rounds/budget/{{spec}}/asked.json",
    log:
        f"{RESULTS}/logs/rounds/budget/{{spec}}/asked.log",
    conda:
        "../envs/driver.yaml"
    shell:
        "cp {input:q} {output:q} 2> {log:q}"
