"""A budget of time: every cell twice, version ladders, then repeats of cells whose planned questions are undecided.

Needs: runs, the runs of version ladders. Makes: further.json, which lists further repeats, and their folders. Always
holds: without `budget_min` there are none; one job runs them all. A call goes on after the last complete block (a repeat
of both cells of a question) of the one before, and makes what is lost or of other code again.
"""

FURTHER = f"{RESULTS}/further.json", f"{RESULTS}/further.stamps.json"


rule further:
    input:
        runs=lambda w: runs_for(FURTHER, [file for name in within_budget() for file in run_jsons(name)]),
        ladders=lambda w: OUTPUT_OF_LADDERS[-1:] if LADDERS and (not parts() or "ladders" in parts()) else (),
        stacks=lambda w: [environment_of(cell["stack"]) or lock_of(cell["stack"]) for cell in cells_to_repeat()],
        reads=lambda w: needs_of(cells_to_repeat()),
        session_spread=chapters.SHIPPED_SPREAD,
    output:
        listed=FURTHER[0],
        stamps=FURTHER[1],
    log:
        f"{RESULTS}/logs/further.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    resources:
        slots=ALL_SLOTS,
        mem_mb=lambda w, attempt: request_of_largest_mb(cells_to_repeat(), attempt),
        # The last run may end after the budget.
        runtime=60 + math.ceil(CONFIG.budget_min or 0),
    params:
        results=lambda w: RESULTS,
        cells=lambda w: how_to_run(cells_to_repeat()),
        look=CONFIG.repeats,
        pairs=PAIRS,
        questions=QUESTIONS,
        budget_min=CONFIG.budget_min,
        code=lambda w: code_of("scripts/further.py", others=[chapters.SHIPPED_SPREAD]),
    script:
        "../scripts/further.py"
