"""Paths, the checked config, and the input functions that every chapter shares.

Needs: a config. Makes: nothing. Always holds: no path of a run is built but by the path grammar.
"""

import functools
import json
import os
import re
from pathlib import Path

from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import ExecMode
from snakemake.settings.types import DeploymentMethod

from beyond_ram import experiment, outputs, progress, stacks
from beyond_ram.closure import closure
from beyond_ram.outputs import Figure, has, varies
from beyond_ram.run_files import RUN_FILES

# Snakemake lists the files of its command line first, and they are the strongest but for --config.
GIVEN_FILES = workflow.overwrite_configfiles
DEFAULT_FILES = [file for file in workflow.configfiles if file not in GIVEN_FILES]

# Images often set it, and each of the hundreds of interpreters of a run would compile Snakemake and pandas anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

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


onstart:
    experiment.places.open_results(RESULTS)
    experiment.specs.write(CONFIG, config)
    progress.Progress(workflow, RUNS, ALL_SLOTS, lambda cell: experiment_of(cell).workload).start()


def run_files(path):
    """The three files of a run; `path` may hold wildcards."""
    return [f"{RUNS}/{path}/{name}" for name in RUN_FILES]


def run_jsons(*names):
    """run.json of every run of some experiments, those kept from before an upgrade included."""
    paths = [cell.path for name in names for cell in CONFIG.cells(name)]
    paths += [path for path in KEPT if experiment.parse(path).experiment in names]
    return [f"{RUNS}/{path}/run.json" for path in paths]


def lock_of(stack):
    """A stack's lock; that of a varied one is made, not shipped."""
    return f".stacks/locks/{stack}.txt" if stacks.is_variant(stack) else f"envs/{stack}.txt"


def conda_of(stack):
    """The conda face of a stack; a varied one has none, and brings its own environment."""
    return f"../envs/{'driver' if stacks.is_variant(stack) else stack}.yaml"


def environment_of(stack):
    """What must be built before a stack can run: its environment, unless conda makes one."""
    by_conda = CONDA and not stacks.is_variant(stack)
    return [] if by_conda else f".stacks/{stack}/beyond-ram.lock"


def python_of(stack):
    """The interpreter of a stack: its own environment's, or the one of the conda environment that the job runs in."""
    by_conda = CONDA and not stacks.is_variant(stack)
    return "python" if by_conda else f".stacks/{stack}/bin/python"


def experiment_of(cell):
    return CONFIG.experiments[cell.experiment]


# Inputs and params of a run both ask for its job.
job_of = functools.cache(CONFIG.job)


def code_beside(program, *modules):
    """A program, the modules that it takes by name, and everything of ours that they import."""
    code = [closure(file, workflow.basedir, beside=program) for file in (program, *modules)]
    return list(dict.fromkeys(file for files in code for file in files))


def code_of_cell(cell):
    """The program of a cell, the module that its loader, format or mode is, and everything of ours that they import."""
    found = experiment_of(cell)
    modules = [f"scripts/workloads/{found.PROGRAM}"]
    if own := CONFIG.loaders.get(cell.get("loader")):
        modules.append(own.module)
    else:
        modules += [
            f"scripts/workloads/{folder}/{cell[axis]}.py"
            for axis, folder in (("loader", "loaders"), ("format", "formats"))
            if cell.get(axis)
        ]
    if cell.get("mode") == "custom":
        modules.append(found.module)
    return code_beside(*modules)


def corpus_of_tokens(name):
    """What a token dataset is cut from; nothing where it is generated."""
    corpus = CONFIG.tokens[name].corpus
    return [f"{CORPORA}/{corpus}/manifest.json", f"{CORPORA}/{corpus}/tokenizer"] if corpus else []


def weigh_input(cell):
    """What a run needs: its stack, its code, and what its job reads."""
    return {
        "lock": lock_of(cell["stack"]),
        "environment": environment_of(cell["stack"]),
        "code": code_of_cell(cell),
        "reads": job_of(cell).needs(),
    }


# What every measuring rule's command is; its params are weigh_params of its cells, one of its inputs is `lock`.
WEIGH = (
    "beyond-ram weigh --runs {params.runs:q} --work {params.work:q} --python {params.python:q} --lock {input.lock:q} "
    "{params.jobs:q} 2> {log:q}"
)


def weigh_params(cells_of):
    """The params of a measuring rule, given the function from its wildcards to its cells."""
    return {
        "runs": lambda w: RUNS,
        "work": lambda w: f"{RESULTS}/private",
        "python": lambda w: python_of(cells_of(w)[0]["stack"]),
        "jobs": lambda w: [job_of(cell).model_dump_json(exclude_defaults=True) for cell in cells_of(w)],
    }


def request_mb(cell, attempt):
    """Memory to ask a scheduler for."""
    return experiment.memory.request_mb(RUNS, cell, experiment_of(cell).memory_mb, attempt)


# Of what runs need: all of it is there before a first repeat, which would else be left behind by second ones.
BEFORE_RUNS = 1_000_000


def repeat_first(cell):
    """The priority of a run: repeat 1 of everything comes before repeat 2, so that repeats are blocks in time."""
    return BEFORE_RUNS - cell.rep


def interrupted_cells(wildcards):
    """The cell of an interrupted run, and that of its rerun."""
    return [
        experiment.parse(f"{wildcards.interrupted_head}/cache~{cache}/{wildcards.interrupted_tail}")
        for cache in ("interrupted", "rerun")
    ]


# Pairs of stacks that are compared: as the config says, and an older lock with the renewed one.
PAIRS = experiment.roles.pairs(CONFIG, KEPT)
CLAIMED = experiment.roles.claimed(CONFIG)


def locks_of_pairs():
    """The locks of stacks that run and are compared, of kept ones as far as they are there, and what the stacks ask for."""
    kept = experiment.kept.locks(RESULTS)
    run = {stack for found in CONFIG.run().values() for stack in found.matrix.stack}
    compared = dict.fromkeys(stack for pair in PAIRS for stack in pair if "@" in stack or stack in run)
    locks = [kept.get(stack) if "@" in stack else lock_of(stack) for stack in compared]
    asked = [f"envs/{stack}.in" for stack in compared if "@" not in stack]
    return [path for path in [*locks, *asked] if path and os.path.exists(path)]


SWEEPS = CONFIG.sweeps()


def sweep_runs(name, versions):
    """run.json of the cells of a version sweep with some versions."""
    sweep = SWEEPS[name]
    cells = CONFIG.cells(sweep.experiment)
    return [f"{RUNS}/{cell.path}/run.json" for version in versions for cell in sweep.cells(cells, version)]


def round_of(name, number):
    """What a bisection round has decided; Snakemake comes back when it is there."""
    made = checkpoints.sweep_round.get(sweep=name, round=number).output[0]
    with open(made) as file:
        return json.load(file)


def runs_of_sweep(name):
    """The runs of a version sweep when its last bisection round has nothing more to ask."""
    number, decided = 0, round_of(name, 0)
    while not decided["done"]:
        number += 1
        decided = round_of(name, number)
    return sweep_runs(name, decided["versions"])


# The tables and figures of all chapters; each chapter adds its own.
OUTPUTS = outputs.Outputs(Path(workflow.basedir), CONFIG.run())


def table(name):
    """A table and its Parquet twin, as outputs."""
    return f"{TABLES}/{name}.csv", f"{TABLES}/{name}.parquet"
