"""Cells as jobs: functions for the chapters that measure, with inputs, params, memory and order of their runs.

Needs: a config. Makes: nothing. Always holds: what a run needs follows from its cell alone.
"""

# Cached, because inputs, params and resources of a run need its cell.
cell_of = functools.cache(experiment.parse)


@functools.cache
def job_of(cell):
    """The inputs of a cell's job, and the job as JSON, which takes a tenth of its memory."""
    job = CONFIG.job(cell)
    return job.needs(), job.model_dump_json(exclude_defaults=True)


@functools.cache
def code_of_cell(cell):
    """The digest that the record of a cell keeps: of code, lock and job. A rerun shares that of its interrupted run."""
    apart = "engine" if cell.get("mode") == "engine" else "program"
    code = digest_of_code(cell.experiment, cell.get("loader") or apart, cell.get("script"), cell["stack"])
    first = cell.replace(cache="interrupted") if cell.get("cache") == "rerun" else cell
    return hashlib.sha256(f"{code} {job_of(first)[1].replace(first.path, '')}".encode()).hexdigest()


@functools.cache
def digest_of_code(name, of, script, stack):
    """The digest of an experiment's code, of a script of the user's with what it imports beside it, and of a lock."""
    digests = [digest(tuple(code_in(name, of)), workflow.basedir), digest((lock_of(stack),), workflow.basedir)]
    if script:
        folder, file = os.path.split(CONFIG.scripts[script].file)
        digests.append(digest(tuple(closure(file, folder or ".")), folder or "."))
        for place in CONFIG.scripts[script].loads:
            digests.append(digest(tuple(sorted(glob.glob(f"{place}/**/*.py", recursive=True))), ""))
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def code_in(name, of):
    """The program of an experiment, the module of its loader, format or mode, and all our files that they import."""
    one = CONFIG.experiments[name]
    modules = [f"scripts/workloads/{program}" for program in one.programs]
    if "loader" in one.axes():
        modules.append(CONFIG.loader_module(of))
    elif of == "engine":
        return [*code_beside(*modules), *code_beside(*one.ENGINE)]
    return code_beside(*modules)


def measure_input(cell):
    """The inputs of a run: its stack (the marker of its environment, or the lock) and its data."""
    missing = (file for file in run_files(cell.path) if not os.path.exists(file))
    plan(itertools.islice(missing, 1))  # one is enough for the job
    return {
        "stack": environment_of(cell["stack"]) or lock_of(cell["stack"]),
        "reads": job_of(cell)[0],
    }


# The shell command of every measuring rule. One param, because Snakemake evaluates each of them several times a job.
MEASURE = "{params.command:q} 2> {log:q}"


def setting_of(cell, alone=True):
    """The interpreter, the lock and the code of a run; `alone` in a job of its stack."""
    return {"python": python_of(cell["stack"], alone), "lock": lock_of(cell["stack"]), "code": code_of_cell(cell)}


def measuring(cells):
    """The command of a job that measures some cells, in words."""
    options = {"runs": RUNS, "work": f"{RESULTS}/private", **setting_of(cells[0])}
    words = (f"--{name}={value}" for name, value in options.items())
    return ["beyond-ram", "measure", *words, *(job_of(cell)[1] for cell in cells)]


def how_to_run(cells):
    """The settings and jobs of cells, for a job that runs them all."""
    return {cell.path: setting_of(cell, alone=False) | {"job": job_of(cell)[1]} for cell in cells}


def needs_of(cells):
    """The data that some cells read."""
    return list(dict.fromkeys(file for cell in cells for file in job_of(cell)[0]))


def request_of_largest_mb(cells, attempt):
    """The memory request of a job that runs some cells and decides between them."""
    return max((request_mb(cell, attempt) for cell in cells), default=0) + job_memory.DRIVER_MB


def request_mb(cell, attempt):
    """The memory request of a run."""
    return job_memory.request_mb(RUNS, cell, CONFIG.experiments[cell.experiment].memory_mb, attempt)


LADDERS = CONFIG.running_ladders()


def cells_of_ladders():
    """The first repeat of each cell over which a version ladder runs."""
    names = dict.fromkeys(ladder.experiment for ladder in LADDERS.values())
    return [cell for name in names for cell in CONFIG.cells(name) if cell.rep == 1]


def varied_cells():
    """These cells with the named versions."""
    named = [(ladder, version) for ladder in LADDERS.values() for version in ladder.versions]
    return [varied for one, version in named for varied in one.cells(CONFIG.cells(one.experiment), version)]


@functools.cache
def within_budget():
    """The experiments of the requested parts, which share the budget."""
    return OUTPUTS.covered(parts()) if CONFIG.budget_min else []


def repeated():
    """The experiments whose cells get further repeats if a planned question needs them."""
    return [name for name in within_budget() if CONFIG.experiments[name].repeats is None]


@functools.cache
def cells_to_repeat():
    """The last certain repeat of each cell that may have further ones."""
    return [cell for name in repeated() for cell in CONFIG.cells(name) if cell.rep == CONFIG.repeats]


@functools.cache
def places_of(repeat):
    """The place of each cell within a repeat: random, but cells of an experiment follow each other."""
    cells = {name: {(name, cell.axes): None for cell in CONFIG.cells(name)} for name in CONFIG.run()}
    blocks = [order.ComparedMembers(name, tuple(of)) for name, of in cells.items()]
    return {cell: place for place, cell in enumerate(order.order(blocks, repeat, ORDER_SEED))}


def in_turn(cell):
    """The priority of a run: repeat 1 of every cell before repeat 2 of any, so that repeats are blocks in time."""
    places = places_of(cell.rep)
    return BEFORE_RUNS - cell.rep * len(places) - places.get((cell.experiment, cell.axes), 0)


def interrupted_cells(wildcards):
    """The cells of an interrupted run and its rerun."""
    return [
        experiment.parse(f"{wildcards.interrupted_head}/cache~{cache}/{wildcards.interrupted_tail}")
        for cache in ("interrupted", "rerun")
    ]


def runs_for(output, files):
    """run.json of some runs, for a job that stamps in its last output all that it reads, and those that it makes itself.

    Whatever their times, runs of other code are made again. If one has another content, or one that the job made itself
    is gone or of other code than theirs, the job runs again.
    """
    stamps, codes = outdated.stamps(made(output)[-1]), set()
    changed = outdated.changed(RUNS, stamps)
    for file in files:
        run = os.path.dirname(file.removeprefix(f"{RUNS}/"))
        record, stamp = f"{run}/run.json", stamps.pop(f"{run}/run.json", None)
        code = changed.get(record, stamp.code) if stamp else outdated.code_of(file)
        codes.add(code_of_cell(cell_of(run)))
        if (code or record in changed) and code != code_of_cell(cell_of(run)):
            plan([file])
    made_files = [file for record in stamps for file in run_files(os.path.dirname(record))]
    other_code = codes and any(changed.get(record, stamp.code) not in codes for record, stamp in stamps.items())
    if changed or other_code or not all(map(os.path.exists, made_files)):
        plan(output)
    return files
