"""Runs: one rule for every workload, hashes of its code, and what the measuring rules share.

Needs: stacks, corpora. Makes: a folder a run, specs/code/EXPERIMENT. Always holds: a measuring job runs alone on the
machine; its files are private, and removed when the run is recorded.
"""

# Cached, because inputs, params and resources of a run need its cell.
cell_of = functools.cache(experiment.parse)


@functools.cache
def job_of(cell):
    """The inputs of a cell's job, and the job as JSON, which takes a tenth of its memory."""
    job = CONFIG.job(cell)
    return job.needs(), job.model_dump_json(exclude_defaults=True)


PEERS = experiment.tokens.names_in(experiment.tokens.PEERS, workflow.basedir)


def code_of_cell(cell):
    """The hash of a cell's code, in one file: ten thousand cells with six files each would be sixty thousand inputs."""
    apart = cell["mode"] if cell.get("mode") in ("custom", "engine", *PEERS) else "program"
    of = cell.get("loader") or cell.get("format") or apart
    return f"{SPECS}/code/{cell.experiment}/{of}.sha256"


def code_in(name, of):
    """The program of an experiment, the module of its loader, format or mode, and all our files that they import."""
    one = CONFIG.experiments[name]
    modules = [f"scripts/workloads/{one.PROGRAM}"]
    if "loader" in one.axes():
        modules.append(CONFIG.loader_module(of))
    elif "format" in one.axes():
        modules.append(f"{experiment.tokens.FORMATS}/{of}.py")
    elif of == "custom":
        modules.append(one.module)
    elif of in PEERS:
        modules.append(f"{experiment.tokens.PEERS}/{of}.py")
    elif of == "engine":
        return [*code_beside(*modules), *code_beside(*one.ENGINE)]
    return code_beside(*modules)


def weigh_input(cell):
    """The inputs of a run: its stack (the marker of its environment, or the lock), its code, its data."""
    return {
        "stack": environment_of(cell["stack"]) or lock_of(cell["stack"]),
        "code": code_of_cell(cell),
        "reads": job_of(cell)[0],
    }


# The command of every measuring rule; weigh_params gives its params.
WEIGH = (
    f"beyond-ram weigh --runs {shlex.quote(RUNS)} --work {shlex.quote(f'{RESULTS}/private')} --python {{params.python:q}} "
    "--lock {params.lock:q} {params.jobs:q} 2> {log:q}"
)


def weigh_params(cells_of):
    """The params of a measuring rule; `cells_of` maps its wildcards to cells."""
    return {
        "python": lambda w: python_of(cells_of(w)[0]["stack"]),
        "lock": lambda w: lock_of(cells_of(w)[0]["stack"]),
        "jobs": lambda w: [job_of(cell)[1] for cell in cells_of(w)],
    }


def request_mb(cell, attempt):
    """The memory request of a run."""
    return experiment.memory.request_mb(RUNS, cell, experiment_of(cell).memory_mb, attempt)


@functools.cache
def places_of(repeat):
    """The place of each cell within a repeat: random, but cells of an experiment follow each other."""
    cells = {name: {(name, cell.axes): None for cell in CONFIG.cells(name)} for name in CONFIG.run()}
    blocks = [rounds.Block(name, tuple(of)) for name, of in cells.items()]
    return {cell: place for place, cell in enumerate(rounds.order(blocks, repeat, ORDER_SEED))}


def in_turn(cell):
    """The priority of a run: repeat 1 of every cell before repeat 2 of any, so that repeats are blocks in time."""
    places = places_of(cell.rep)
    return BEFORE_RUNS - cell.rep * len(places) - places.get((cell.experiment, cell.axes), 0)


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
