"""Paths, the checked config, and functions that the chapters share.

Needs: a config. Makes: nothing. Always holds: only the path grammar builds paths of runs.
"""

import filecmp
import functools
import gc
import glob
import hashlib
import inspect
import itertools
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from snakemake.deployment.conda import CondaEnvFileSpec
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from beyond_ram import experiment
from beyond_ram.workflow import chapters, job_memory, outdated, scheduler, terminal
from beyond_ram.workflow.imports import closure, digest
from beyond_ram.workflow.chapters import Figure, always, has, limited, varies
from beyond_ram.report.page import sources as page_sources
from beyond_ram.measure import order
from beyond_ram.records.run_files import RUN_FILES
from beyond_ram.tokenize import encoders
from beyond_ram.tokenize.formats import tokenizer_file

# Snakemake lists the files of its command line first. They override all but --config.
GIVEN_FILES = workflow.overwrite_configfiles
DEFAULT_FILES = [file for file in workflow.configfiles if file not in GIVEN_FILES]

# Images often set it; then each of hundreds of interpreters would compile Snakemake and pandas again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Rules call `beyond-ram` by name, also where `.venv/bin/snakemake` was called and the environment is not activated.
if shutil.which("beyond-ram") is None:
    os.environ.update(PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))

# A plan of ten thousand jobs is millions of objects without garbage; collections took a seventh of the time.
gc.set_threshold(200_000, 50, 1000)

try:
    given = workflow.config_settings.config
    merged, files = experiment.merge.read(DEFAULT_FILES, GIVEN_FILES, given, experiment.content_of)
    # Snakemake's own merging would leave parts of a default experiment in one of the same name.
    config.clear()
    config.update(merged)
    CONFIG = experiment.load(config, files, workflow.basedir, given)
    experiment.roles.run_locks_before(CONFIG, workflow.basedir)
except experiment.ConfigError as error:
    sys.exit(f"beyond-ram: {error}")  # an error of Snakemake's has lines about our code

RESULTS = CONFIG.results
RUNS = f"{RESULTS}/runs"
COLLECTED = f"{RESULTS}/collected"
TABLES = f"{RESULTS}/tables"
FIGURES = f"{RESULTS}/figures"
CORPORA = f"{RESULTS}/corpora"
TOKENS = f"{RESULTS}/tokens"
REPOSITORIES = f"{RESULTS}/repositories"
OWN_IDS = f"{RESULTS}/tokenise"
# A measuring job takes all slots of profiles/default, so it runs alone.
ALL_SLOTS = 100
# Programs read their settings from files, because an argument has at most 128 KiB.
SPECS = f"{RESULTS}/{experiment.specs.FOLDER}"
CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
# For calls without conda; a function of the stack would be called for each of ten thousand runs.
DRIVER_ENV = "../envs/driver.yaml"


onstart:
    experiment.places.open_results(RESULTS)
    try:
        experiment.places.lock_results(Path(RESULTS))
    except experiment.places.LockedError as error:
        raise WorkflowError(str(error)) from None
    outdated.set_aside(workflow, REPORT, rests_on)
    experiment.specs.write(CONFIG, config, ORDER_SEED)
    scheduler.stay_idle(workflow)
    scheduler.end_on_sigterm()


def plan(paths):
    """Have the jobs of these outputs run, whatever the times of their files."""
    workflow.dag.forcefiles.update(paths)


def made(paths):
    """The paths, each planned if it is missing. Snakemake makes no missing file for an output that stands."""
    plan(path for path in paths if not os.path.exists(path))
    return paths


def run_files(path):
    """The three files of a run; `path` may hold wildcards.

    The record comes first: Snakemake removes outputs in this order, so a half-removed run is made again.
    """
    return [f"{RUNS}/{path}/{name}" for name in reversed(RUN_FILES)]


def run_jsons(name):
    """run.json of the certain runs of an experiment."""
    return [f"{RUNS}/{cell.path}/run.json" for cell in CONFIG.cells(name)]


def lock_of(stack):
    return f"envs/{stack}.txt"


def conda_of(stack):
    return f"../envs/{stack}.yaml"


def environment_of(stack):
    """The environment that a stack needs, unless conda makes it."""
    return [] if CONDA else f".stacks/{stack}/beyond-ram.lock"


def python_of(stack, alone=True):
    """The interpreter of a stack, or of the conda environment of a job that has its stack alone."""
    if not CONDA:
        return f".stacks/{stack}/bin/python"
    if alone:
        return "python"
    return f"{CondaEnvFileSpec(f'{workflow.basedir}/envs/{stack}.yaml').get_conda_env(workflow).address}/bin/python"


def lock_to_build(stack):
    """The lock of a stack. An environment of another lock is planned, whatever the times of both."""
    lock, marker = lock_of(stack), f".stacks/{stack}/beyond-ram.lock"
    if os.path.exists(lock) and os.path.exists(marker) and not filecmp.cmp(lock, marker, shallow=False):
        plan([marker])
    return lock


def code_beside(program, *modules):
    """A program, the modules that it loads by name, and all our files that they import."""
    code = [closure(file, workflow.basedir, beside=program) for file in (program, *modules)]
    return list(dict.fromkeys(file for files in code for file in files))


def code_of(program, *modules, others=()):
    """The digest of all this code and of other files, as a parameter: content makes a job run again, not times."""
    return digest((*code_beside(program, *modules), *others), workflow.basedir)


def corpus_code(source):
    """The digest of the code and the lock of a corpus; your own files are read by the engine of `tokenize`."""
    reader = code_beside("beyond_ram/tokenize/engine/inputs.py") if source == "files" else []
    return code_of(f"scripts/corpora/{source}.py", others=[lock_of("corpora"), *reader])


def known(function):
    """The function with its signature, which Snakemake otherwise works out fifteen times a job."""
    function.__signature__ = inspect.signature(function)
    return function


# Priority of what runs need: all of it before a first repeat, so that no cell falls behind.
BEFORE_RUNS = 1_000_000


ORDER_SEED = experiment.specs.order_seed(RESULTS)


PAIRS = experiment.roles.pairs(CONFIG)
QUESTIONS = experiment.roles.questions(CONFIG)


def compares(one):
    """Whether an experiment runs both stacks of a pair."""
    return any({*pair} <= {*one.matrix.stack} for pair in PAIRS)


def locks_of_pairs():
    """The existing locks and requirements of the stacks that are compared."""
    run = {stack for one in CONFIG.run().values() for stack in one.matrix.stack}
    compared = dict.fromkeys(stack for pair in PAIRS for stack in pair if stack in run)
    paths = [path for stack in compared for path in (lock_of(stack), f"envs/{stack}.in")]
    return [path for path in paths if os.path.exists(path)]


# The tables and figures of all chapters; each chapter adds its own.
OUTPUTS = chapters.Outputs(Path(workflow.basedir), CONFIG.run())


def table(name):
    """A table and its Parquet twin, as chapters."""
    return f"{TABLES}/{name}.csv", f"{TABLES}/{name}.parquet"


def rests_on(path):
    """Whether the report rests on a file, whichever parts it covers."""
    return path in FURTHER or path.startswith((f"{RUNS}/", f"{COLLECTED}/")) or path in {*targets([])}


def own_files():
    """The section of the config."""
    example = "{inputs: [data/], tokenizer: my-model/, out: ids, shards: 4}"
    return CONFIG.tokenise or sys.exit(
        f"beyond-ram: target tokenise: the config has no section for it, such as `tokenise: {example}`"
    )


def stacks_of_ids():
    """The stacks that list, copy and encode."""
    own = own_files()
    return encoders.stacks(own.stack) + ((encoders.STORES,) if own.addresses else ())


def record_of_shard(shard):
    """The command's record of a finished shard."""
    return f"{own_files().out}/.beyond-ram-tokenize/shard-{int(shard):05d}.json"


@functools.cache
def question_of_ids():
    """A digest of what decides the ids: options, tokenizer, and the names, sizes, times and inodes of the input files; of
    stores the addresses alone."""
    own = own_files()
    here = [name for name in own.inputs if name not in own.addresses]
    places = [name if name in own.addresses else None for name in own.inputs]
    program = [sys.executable, encoders.ENGINE / "inventory.py", own.out, *here]
    listed = subprocess.run(program, stdout=subprocess.PIPE, text=True)  # a refusal is on standard error
    if listed.returncode:
        sys.exit(listed.returncode)
    decides = own.options(), own.shards, places, listed.stdout, digest((tokenizer_file(own.tokenizer),), "")
    return hashlib.sha256(repr(decides).encode()).hexdigest()


def copies_of_records():
    """The copies of the shards' records. One that is not as recorded is planned: the command knows what is left."""
    shards = {
        f"{OWN_IDS}/shard-{number}.record": record_of_shard(number) for number in range(1, own_files().shards + 1)
    }
    for copy, record in (shards | {f"{OWN_IDS}/summary.record": f"{own_files().out}/summary.json"}).items():
        # Whether objects of stores have changed only the command sees: its last job runs in each call.
        last = own_files().addresses and copy.endswith("summary.record")
        if last or not own_files().is_recorded(record, copy, question_of_ids()):
            plan([copy])
    return list(shards)
