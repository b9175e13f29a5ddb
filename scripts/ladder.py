"""Run the releases between versions of ladders that differ, until the sides of each step are neighbours."""

from functools import cache
from pathlib import Path

import pandas as pd

from beyond_ram import logs, outdated, tables
from beyond_ram.analysis.ladders import COLUMNS, infeasible, ladders, next_versions, of_versions
from beyond_ram.experiment import parse, specs
from beyond_ram.files import read_json
from beyond_ram.measure import cells
from beyond_ram.measure.order import Block, order
from beyond_ram.stacks.variants import parts_of, vary
from beyond_ram.stacks.venv import build


def steps_of(name, asked, releases, runs, hows, results):
    """The steps of a ladder, in the format of table `ladders`. Runs of further versions are added to `runs`."""
    # If data or arguments change, all named versions are run again, and what lies between is older than these.
    since = min(record.get("started_at") or 0.0 for record, _ in runs.values())
    while True:
        in_order = sorted(runs, key=lambda cell: releases.index(parts_of(cell["stack"])[2]))
        table = of_versions([runs[cell] for cell in in_order])
        steps = ladders(name, asked["package"], asked["metrics"], table, releases, asked["versions"])
        by_metric = [(steps[steps["metric"] == one], infeasible(table, one)) for one in asked["metrics"]]
        named = (version for part, cannot in by_metric for version in next_versions(part, releases, cannot))
        more = sorted({*named}) if asked["bisect"] else []
        if not more:
            return steps
        first = [cell for cell in hows if parts_of(cell["stack"])[2] == asked["versions"][0]]
        for one in sorted(first, key=lambda cell: cell.rep):
            base, package, _ = parts_of(one["stack"])
            stacks = [f"{base}+{package}-{version}" for version in more]
            block = Block(one.path, tuple(one.replace(stack=stack) for stack in stacks))
            for cell in order([block], one.rep, specs.order_seed(results)):
                runs |= run(name, cell, hows, one["stack"], since, Path(results))


def run(name, cell, hows, like, since, results):
    """The runs of a cell, which is run like that of another stack. Before it is measured its stack is made."""
    stack = cell["stack"]

    def how(one):
        places = {"lock": f".stacks/locks/{stack}.txt", "python": f".stacks/{stack}/bin/python"}
        return hows[one.replace(stack=like)] | places

    def begin():
        print(what := f"ladder {name}: {stack}, {cell.experiment}, repeat {cell.rep}")
        logs.warn(what, passing=True)
        make_environment(stack)

    return cells.run(results, cell, how, since, begin)


@cache
def make_environment(stack):
    """Lock and build a varied stack."""
    lock = Path(f".stacks/locks/{stack}.txt")
    vary(stack, Path("envs"), lock)
    build(lock, Path(f".stacks/{stack}"))


def main(snakemake):
    params, runs, files = snakemake.params, f"{snakemake.params.results}/runs", snakemake.input.runs
    read = dict(zip(files, tables.read_runs(files), strict=True))
    tables_of, all_runs = [], {}
    for (name, asked), releases in zip(params.ladders.items(), map(read_json, snakemake.input.releases), strict=True):
        named = [(asked["experiment"], asked["package"], version) for version in asked["versions"]]
        cells_of = {cell: (cell.experiment, *parts_of(cell["stack"])[1:]) for cell in map(parse, params.cells)}
        hows = {cell: params.cells[cell.path] for cell, which in cells_of.items() if which in named}
        runs_of = {cell: read[file] for cell in hows if (file := f"{runs}/{cell.path}/run.json") in read}
        if runs_of:  # else all were lost
            steps = steps_of(name, asked, releases, runs_of, hows, params.results)
            tables_of += [steps] if len(steps) else []  # without steps it has no types of columns to contribute
            all_runs |= runs_of
    table = pd.concat(tables_of) if tables_of else pd.DataFrame(columns=COLUMNS)
    tables.write(table, snakemake.output.csv, snakemake.output.parquet)
    outdated.write_stamps([f"{runs}/{cell.path}/run.json" for cell in all_runs], runs, snakemake.output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
