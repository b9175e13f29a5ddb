"""Which runs the rounds of version ladders and of a budget have asked for: functions of the chapters `ladders` and `budget`.

Needs: a config. Makes: nothing. Always holds: a round is read by the checkpoint that made it.
"""

LADDERS = CONFIG.running_ladders()


def ladder_runs(name, versions):
    """run.json of the cells of a version ladder with some versions."""
    ladder = LADDERS[name]
    cells = CONFIG.cells(ladder.experiment)
    return [f"{RUNS}/{cell.path}/run.json" for version in versions for cell in ladder.cells(cells, version)]


def ladder_folder(name):
    """The folder of a version ladder."""
    asked = [LADDERS[name].model_dump_json(), *ladder_runs(name, LADDERS[name].versions)]
    return folder_of_rounds("ladders", name, asked)


def ladder_round(name, number):
    """What a bisection round has decided."""
    return round_of("ladder_round", ladder=name, spec=os.path.basename(ladder_folder(name)), round=number)


def runs_of_ladder(name):
    """The runs of a version ladder when its last bisection round has nothing more to ask."""
    decided = last_round("ladder_round", ladder=name, spec=os.path.basename(ladder_folder(name)))
    return ladder_runs(name, decided["versions"])


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


def ladder_runs_within_budget():
    """run.json of every run of the ladders that are asked for: their time counts, and they come first."""
    names = LADDERS if CONFIG.budget_min and (not parts() or "ladders" in parts()) else []
    return [run for name in names for run in runs_of_ladder(name)]


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
