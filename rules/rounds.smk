"""Runs that the rounds of version ladders and of a budget request: functions for the chapters `ladders` and `budget`.

Needs: a config. Makes: nothing. Always holds: a round is read by the checkpoint that made it.
"""

LADDERS = CONFIG.running_ladders()


def round_of(checkpoint, **of):
    """The decision of a round; Snakemake evaluates this again when the round is made."""
    with open(getattr(checkpoints, checkpoint).get(**of).output[0]) as file:
        return json.load(file)


def last_round(checkpoint, **of):
    """The decision of the last round, which requests no further runs."""
    decisions = (round_of(checkpoint, round=number, **of) for number in itertools.count())
    return next(decided | {"round": number} for number, decided in enumerate(decisions) if decided["done"])


def folder_of_rounds(kind, name, asked):
    """The folder of some rounds, named by the hash of their settings.

    Snakemake does not notice changes where an input waits for a checkpoint; other settings are therefore another folder.
    """
    return f"{RESULTS}/{kind}/{name}/{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]}"


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
    """The decision of a bisection round."""
    return round_of("ladder_round", ladder=name, spec=os.path.basename(ladder_folder(name)), round=number)


def end_of_ladder(name):
    """The decision of a version ladder's last bisection round."""
    return last_round("ladder_round", ladder=name, spec=os.path.basename(ladder_folder(name)))


def runs_of_ladder(name):
    """All runs of a version ladder, after its last bisection round."""
    return ladder_runs(name, end_of_ladder(name)["versions"])


def last_round_of_ladder(name):
    """The file of a version ladder's last bisection round."""
    return f"{ladder_folder(name)}/round~{end_of_ladder(name)['round']}.json"


@functools.cache
def within_budget():
    """The experiments of the requested parts, which share the budget."""
    names = [name for part in parts() for name in OUTPUTS.covered(part)] if parts() else CONFIG.run()
    return list(dict.fromkeys(names)) if CONFIG.budget_min else []


def repeated():
    """The experiments whose cells get further repeats if a planned question needs them."""
    return [name for name in within_budget() if CONFIG.experiments[name].repeats is None]


@functools.cache
def budget_folder():
    """The folder of the budget's rounds."""
    runs = [run for name in within_budget() for run in certain_runs(name)]
    return folder_of_rounds("rounds", "budget", [CONFIG.budget_min, PAIRS, QUESTIONS, runs])


def budget_runs(number):
    """run.json of every run before a round."""
    runs = [run for name in within_budget() for run in certain_runs(name)]
    asked = budget_round(number - 1)["runs"] if number else []
    return [f"{RUNS}/{run}/run.json" for run in [*runs, *asked]]


def ladders_within_budget():
    """The requested version ladders. Their time counts, and they come before further repeats."""
    return [*LADDERS] if CONFIG.budget_min and (not parts() or "ladders" in parts()) else []


def budget_round(number):
    """The decision of a round of the budget."""
    return round_of("budget_round", spec=os.path.basename(budget_folder()), round=number)


def last_budget_round():
    """The decision of the last round of the budget."""
    return last_round("budget_round", spec=os.path.basename(budget_folder()))


def further_runs(name):
    """The runs of an experiment that the rounds have requested."""
    if name not in repeated():
        return []
    return [run for run in last_budget_round()["runs"] if run.startswith(f"{name}/")]


def asked_of_budget(names):
    """The result of the rounds, if runs of some experiments depend on it."""
    return [f"{budget_folder()}/asked.json"] if {*names} & {*repeated()} else []
