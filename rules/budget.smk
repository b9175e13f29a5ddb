"""What a budget of time goes to: every cell twice, then repeats of the cells whose planned questions are undecided.

Needs: runs. Makes: rounds, which say what is weighed next. Always holds: without `budget_min` there is none; the time
that was used stands in the records of the runs, so a call goes on where another has ended.
"""


wildcard_constraints:
    spec="[0-9a-f]{8}",
    round=r"\d+",


localrules:
    budget,
    budget_round,


@functools.cache
def within_budget():
    """The experiments that share the budget: of the parts that are asked for."""
    names = [name for part in parts() for name in OUTPUTS.covered(part)] if parts() else CONFIG.run()
    return list(dict.fromkeys(names)) if CONFIG.budget_min else []


def repeated():
    """The experiments whose cells are weighed again where a planned question needs it."""
    return [name for name in within_budget() if CONFIG.experiments[name].repeats is None]


@functools.cache
def budget_folder():
    """The folder of the rounds."""
    runs = [run for name in within_budget() for run in certain_runs(name)]
    return folder_of_rounds("rounds", "budget", [CONFIG.budget_min, PAIRS, QUESTIONS, runs])


def budget_runs(number):
    """run.json of every run that a round looks at."""
    runs = [run for name in within_budget() for run in certain_runs(name)]
    asked = budget_round(number - 1)["runs"] if number else []
    return [f"{RUNS}/{run}/run.json" for run in [*runs, *asked]]


def budget_round(number):
    """What a round has decided."""
    return round_of("budget_round", spec=os.path.basename(budget_folder()), round=number)


def last_budget_round():
    """What the last round has decided."""
    return last_round("budget_round", spec=os.path.basename(budget_folder()))


def further_runs(name):
    """The runs of an experiment that the rounds have asked for."""
    if name not in repeated():
        return []
    return [run for run in last_budget_round()["runs"] if run.startswith(f"{name}/")]


def asked_of_budget(names):
    """What the rounds came to, if runs of some experiments depend on it."""
    return [f"{budget_folder()}/asked.json"] if {*names} & {*repeated()} else []


checkpoint budget_round:
    input:
        runs=lambda w: budget_runs(int(w.round)),
        rounds=lambda w: [f"{budget_folder()}/round~{int(w.round) - 1}.json"] if int(w.round) else [],
        shipped_spread=outputs.SHIPPED_SPREAD,
        code=closure("scripts/rounds/budget.py", workflow.basedir),
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
