"""Paths, the checked config, and the input functions that every chapter shares.

Needs: a config. Makes: nothing. Always holds: no path of a run is built but by the path grammar.
"""

import functools
import gc
import hashlib
import itertools
import json
import os
import re
import shlex
from pathlib import Path

from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import ExecMode
from snakemake.settings.types import DeploymentMethod

from beyond_ram import experiment, idle, lost, outputs, progress, rounds
from beyond_ram.closure import closure
from beyond_ram.outputs import Figure, Page, always, has, varies
from beyond_ram.report.page import sources as page_sources
from beyond_ram.run_files import RUN_FILES
from beyond_ram.stacks import variants

# Snakemake lists the files of its command line first, and they are the strongest but for --config.
GIVEN_FILES = workflow.overwrite_configfiles
DEFAULT_FILES = [file for file in workflow.configfiles if file not in GIVEN_FILES]

# Images often set it, and each of the hundreds of interpreters of a run would compile Snakemake and pandas anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A plan of ten thousand jobs is millions of objects and no garbage: looking for some took a seventh of the time.
gc.set_threshold(200_000, 50, 1000)

try:
    given = workflow.config_settings.config
    merged, files = experiment.merge.read(DEFAULT_FILES, GIVEN_FILES, given, load_configfile)
    # In place of Snakemake's own merging, which leaves parts of a default experiment in one of the same name.
    config.clear()
    config.update(merged)
    CONFIG = experiment.load(config, files, workflow.basedir, given)
    KEPT = experiment.kept.read(CONFIG.results)
except experiment.ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = CONFIG.results
RUNS = f"{RESULTS}/runs"
COLLECTED = f"{RESULTS}/collected"
TABLES = f"{RESULTS}/tables"
FIGURES = f"{RESULTS}/figures"
CORPORA = f"{RESULTS}/corpora"
TOKENS = f"{RESULTS}/tokens"
REPOSITORIES = f"{RESULTS}/repositories"
# A measuring job takes all slots that profiles/default gives, and so is alone on the machine.
ALL_SLOTS = 100
# Programs read their settings from files: an argument of a command has room for 128 KiB.
SPECS = f"{RESULTS}/{experiment.specs.FOLDER}"
CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
# Named where conda is not used: a function of a run's stack would be asked for each of ten thousand runs.
DRIVER_ENV = "../envs/driver.yaml"


onstart:
    experiment.places.open_results(RESULTS)
    try:
        experiment.places.hold_results(Path(RESULTS))
    except experiment.places.HeldError as error:
        raise WorkflowError(str(error)) from None
    experiment.specs.write(CONFIG, config, ORDER_SEED)
    progress.Progress(workflow, RUNS, ALL_SLOTS, lambda cell: experiment_of(cell).workload).start()
    idle.stay_idle(workflow)


# What could not be made by the call that this one follows, with --keep-going: done without.
LOST = lost.paths()


def there(paths):
    """Those of some paths that are not lost."""
    return [path for path in paths if path not in LOST] if LOST else paths


def run_files(path):
    """The three files of a run; `path` may hold wildcards.

    The record first: Snakemake removes outputs in this order, and a run that a kill has left half removed is made again.
    """
    return [f"{RUNS}/{path}/{name}" for name in reversed(RUN_FILES)]


def certain_runs(name):
    """The runs of an experiment that are certain to be weighed."""
    return [cell.path for cell in CONFIG.cells(name)]


def asked_run_jsons(name):
    """run.json of every run of an experiment that was asked for, those kept from before an upgrade included."""
    paths = [*certain_runs(name), *further_runs(name)]
    paths += [path for path in KEPT if experiment.parse(path).experiment == name]
    return [f"{RUNS}/{path}/run.json" for path in paths]


def run_jsons(name):
    """run.json of every run of an experiment, but for those that are lost."""
    return there(asked_run_jsons(name))


def lost_runs(name):
    """run.json of the runs of an experiment that are lost."""
    return [path for path in asked_run_jsons(name) if path in LOST] if LOST else []


def lock_of(stack):
    """A stack's lock; that of a varied one is made, not shipped."""
    return f".stacks/locks/{stack}.txt" if variants.is_variant(stack) else f"envs/{stack}.txt"


def conda_of(stack):
    """The conda face of a stack; a varied one has none, and brings its own environment."""
    return f"../envs/{'driver' if variants.is_variant(stack) else stack}.yaml"


def environment_of(stack):
    """What must be built before a stack can run: its environment, unless conda makes one."""
    by_conda = CONDA and not variants.is_variant(stack)
    return [] if by_conda else f".stacks/{stack}/beyond-ram.lock"


def python_of(stack):
    """The interpreter of a stack: its own environment's, or the one of the conda environment that the job runs in."""
    by_conda = CONDA and not variants.is_variant(stack)
    return "python" if by_conda else f".stacks/{stack}/bin/python"


def experiment_of(cell):
    return CONFIG.experiments[cell.experiment]


# Inputs, params and resources of a run all ask for its cell.
cell_of = functools.cache(experiment.parse)


@functools.cache
def job_of(cell):
    """What the job of a cell needs, and the job as JSON, which is a tenth of it in memory."""
    job = CONFIG.job(cell)
    return job.needs(), job.model_dump_json(exclude_defaults=True)


def code_beside(program, *modules):
    """A program, the modules that it takes by name, and everything of ours that they import."""
    code = [closure(file, workflow.basedir, beside=program) for file in (program, *modules)]
    return list(dict.fromkeys(file for files in code for file in files))


PEERS = experiment.tokens.names_in(experiment.tokens.PEERS, workflow.basedir)


def code_of_cell(cell):
    """One file for all code of a cell: ten thousand cells with six files each would be sixty thousand inputs."""
    apart = cell["mode"] if cell.get("mode") in ("custom", "engine", *PEERS) else "program"
    of = cell.get("loader") or cell.get("format") or apart
    return f"{SPECS}/code/{cell.experiment}/{of}.sha256"


def code_in(name, of):
    """The program of an experiment, the module that its loader, format or mode is, and all of ours that they import."""
    found = CONFIG.experiments[name]
    modules = [f"scripts/workloads/{found.PROGRAM}"]
    if "loader" in found.axes():
        modules.append(CONFIG.loader_module(of))
    elif "format" in found.axes():
        modules.append(f"{experiment.tokens.FORMATS}/{of}.py")
    elif of == "custom":
        modules.append(found.module)
    elif of in PEERS:
        modules.append(f"{experiment.tokens.PEERS}/{of}.py")
    elif of == "engine":
        return [*code_beside(*modules), *code_beside(*found.ENGINE)]
    return code_beside(*modules)


def corpus_of_tokens(name):
    """What a token dataset is cut from; nothing where it is generated."""
    corpus = CONFIG.tokens[name].corpus
    return [f"{CORPORA}/{corpus}/manifest.json", f"{CORPORA}/{corpus}/tokenizer"] if corpus else []


def weigh_input(cell):
    """What a run needs: its stack, which is the lock or what marks an environment of just that, its code, its data."""
    return {
        "stack": environment_of(cell["stack"]) or lock_of(cell["stack"]),
        "code": code_of_cell(cell),
        "reads": job_of(cell)[0],
    }


# What every measuring rule's command is; its params are weigh_params of its cells.
WEIGH = (
    f"beyond-ram weigh --runs {shlex.quote(RUNS)} --work {shlex.quote(f'{RESULTS}/private')} --python {{params.python:q}} "
    "--lock {params.lock:q} {params.jobs:q} 2> {log:q}"
)


def weigh_params(cells_of):
    """The params of a measuring rule, given the function from its wildcards to its cells."""
    return {
        "python": lambda w: python_of(cells_of(w)[0]["stack"]),
        "lock": lambda w: lock_of(cells_of(w)[0]["stack"]),
        "jobs": lambda w: [job_of(cell)[1] for cell in cells_of(w)],
    }


def request_mb(cell, attempt):
    """Memory to ask a scheduler for."""
    return experiment.memory.request_mb(RUNS, cell, experiment_of(cell).memory_mb, attempt)


# Of what runs need: all of it is there before a first repeat, which would else be left behind by second ones.
BEFORE_RUNS = 1_000_000


ORDER_SEED = experiment.specs.order_seed(RESULTS)


@functools.cache
def places_of(repeat):
    """The place of each cell in a repeat of all: in random order, those of an experiment one after the other."""
    cells = {name: {(name, cell.axes): None for cell in CONFIG.cells(name)} for name in CONFIG.run()}
    blocks = [rounds.Block(name, tuple(of)) for name, of in cells.items()]
    return {cell: place for place, cell in enumerate(rounds.order(blocks, repeat, ORDER_SEED))}


def in_turn(cell):
    """The priority of a run: repeat 1 of everything comes before repeat 2, so that repeats are blocks in time."""
    places = places_of(cell.rep)
    return BEFORE_RUNS - cell.rep * len(places) - places.get((cell.experiment, cell.axes), 0)


def interrupted_cells(wildcards):
    """The cell of an interrupted run, and that of its rerun."""
    return [
        experiment.parse(f"{wildcards.interrupted_head}/cache~{cache}/{wildcards.interrupted_tail}")
        for cache in ("interrupted", "rerun")
    ]


# Pairs of stacks that are compared: as the config says, and an older lock with the renewed one.
PAIRS = experiment.roles.pairs(CONFIG, KEPT)
QUESTIONS = experiment.roles.questions(CONFIG)
CLAIMED = experiment.roles.claimed(CONFIG)


def compares(found):
    """Whether an experiment runs both stacks of a pair; an older lock's runs are kept."""
    stacks = {*found.matrix.stack}
    return any(after in stacks and (before in stacks or "@" in before) for before, after in PAIRS)


def locks_of_pairs():
    """The locks of stacks that run and are compared, of kept ones as far as they are there, and what the stacks ask for."""
    kept = experiment.kept.locks(RESULTS)
    run = {stack for found in CONFIG.run().values() for stack in found.matrix.stack}
    compared = dict.fromkeys(stack for pair in PAIRS for stack in pair if "@" in stack or stack in run)
    locks = [kept.get(stack) if "@" in stack else lock_of(stack) for stack in compared]
    asked = [f"envs/{stack}.in" for stack in compared if "@" not in stack]
    return [path for path in [*locks, *asked] if path and os.path.exists(path)]


def round_of(checkpoint, **of):
    """What a round has decided; Snakemake comes back when it is there."""
    with open(getattr(checkpoints, checkpoint).get(**of).output[0]) as file:
        return json.load(file)


def last_round(checkpoint, **of):
    """What the last of some rounds has decided, which asks for nothing more."""
    decisions = (round_of(checkpoint, round=number, **of) for number in itertools.count())
    return next(decided | {"round": number} for number, decided in enumerate(decisions) if decided["done"])


def folder_of_rounds(kind, name, asked):
    """The folder of some rounds, named by all that is asked of them.

    Snakemake looks for what changed only where no input waits for a checkpoint. So what is asked otherwise is another one.
    """
    return f"{RESULTS}/{kind}/{name}/{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]}"


# The tables and figures of all chapters; each chapter adds its own.
OUTPUTS = outputs.Outputs(Path(workflow.basedir), CONFIG.run())


def table(name):
    """A table and its Parquet twin, as outputs."""
    return f"{TABLES}/{name}.csv", f"{TABLES}/{name}.parquet"
