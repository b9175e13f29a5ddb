"""Search each version ladder for the releases between which a metric changed, and run what the search asks for."""

import hashlib
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from beyond_ram import logs, outdated, tables
from beyond_ram.analysis.rule import searched
from beyond_ram.experiment import Cell, parse, specs
from beyond_ram.files import read_json
from beyond_ram.measure import cells
from beyond_ram.measure.campaign import BLOCKS, Campaign
from beyond_ram.measure.ladders import COLUMNS, MOST, of_versions, run_of, steps_of
from beyond_ram.measure.search import Search
from beyond_ram.stacks.variants import vary
from beyond_ram.stacks.venv import build


def search(name, ladder, releases, first, hows, since, results):
    """The steps of a ladder in one cell, in the format of table `ladders`, and all runs."""
    ends = [releases.index(ladder["versions"][end]) for end in (0, -1)]
    sides = releases[ends[0] : ends[1] + 1] if ladder["bisect"] else ladder["versions"]
    seed = specs.order_seed(results)
    policy = Search(first.path, sides, *searched(ladder["metrics"]), seed, (), ladder["versions"], MOST)
    own, all_runs = [], {}

    def once(member, number, block):
        stack = f"{first['stack']}+{ladder['package']}-{member.side}"
        cell = replace(first.replace(stack=stack), rep=number)

        def how(one):
            places = {"lock": f".stacks/locks/{stack}.txt", "python": f".stacks/{stack}/bin/python"}
            return hows[replace(one.replace(stack=first["stack"]), rep=1)] | places

        def begin():
            print(what := f"ladder {name}: {stack}, {cell.experiment}, repeat {number}")
            logs.warn(what, passing=True)
            make_environment(stack)

        made = cells.run(Path(results), cell, how, since, begin)
        all_runs.update(made)
        own.append(made[cell])
        return run_of(made[cell], member, number, block)

    Campaign(Path(results, "ladders", name), seed, once).run(policy, math.inf)
    return steps_of(name, ladder["package"], policy, of_versions(own), releases), all_runs


@cache
def make_environment(stack):
    """Lock and build a varied stack."""
    lock = Path(f".stacks/locks/{stack}.txt")
    vary(stack, Path("envs"), lock)
    build(lock, Path(f".stacks/{stack}"))


def main(snakemake):
    params, results = snakemake.params, snakemake.params.results
    # A run of other arguments is of other code, and one that is older than what was made for it is made again.
    digests = {path: hashlib.sha256(f"{how['code']} {how['job']}".encode()) for path, how in params.cells.items()}
    hows = {parse(path): how | {"code": digests[path].hexdigest()} for path, how in params.cells.items()}
    reads = [Path(file) for file in snakemake.input.reads if file.startswith(results)]
    since = max((file.stat().st_mtime for file in reads), default=0.0)
    all_tables = []
    all_runs: dict[Cell, object] = {}
    for (name, ladder), releases in zip(params.ladders.items(), map(read_json, snakemake.input.releases), strict=True):
        Path(results, "ladders", name, BLOCKS).unlink(missing_ok=True)
        for first in (cell for cell in hows if cell.experiment == ladder["experiment"]):
            steps, runs = search(name, ladder, releases, first, hows, since, results)
            all_tables += [steps] if len(steps) else []  # without steps it has no types of columns to contribute
            all_runs |= runs
    table = pd.concat(all_tables) if all_tables else pd.DataFrame(columns=COLUMNS)
    tables.write(table, snakemake.output.csv, snakemake.output.parquet)
    files = [f"{results}/runs/{cell.path}/run.json" for cell in all_runs]
    outdated.write_stamps(files, f"{results}/runs", snakemake.output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
