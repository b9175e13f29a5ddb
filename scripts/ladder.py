"""Search each version ladder for the releases between which a metric changed, and run what the search asks for."""

import hashlib
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from beyond_ram.analysis.rule import searched
from beyond_ram.experiment import Cell, parse, specs
from beyond_ram.files import read_json
from beyond_ram.measure import cells
from beyond_ram.measure.campaign import opened
from beyond_ram.measure.ladders import COLUMNS, MOST, of_versions, run_of, steps_of
from beyond_ram.measure.search import Search
from beyond_ram.records import tables
from beyond_ram.stacks.variants import parts_of, vary
from beyond_ram.stacks.venv import build
from beyond_ram.workflow import logs, outdated


def search(name, ladder, releases, first, campaign, run):
    """The steps of a ladder in one cell, in the format of table `ladders`; `run` gives the run of a cell."""
    ends = [releases.index(ladder["versions"][end]) for end in (0, -1)]
    sides = releases[ends[0] : ends[1] + 1] if ladder["bisect"] else ladder["versions"]
    policy = Search(first.path, sides, *searched(ladder["metrics"]), campaign.seed, (), ladder["versions"], MOST)
    own = []

    def once(member, number, block):
        cell = replace(first.replace(stack=f"{first['stack']}+{ladder['package']}-{member.side}"), rep=number)
        own.append(run(name, cell))
        return run_of(cell, own[-1], member, block)

    campaign.runs, campaign.once = [], once
    campaign.run(policy, math.inf)
    return steps_of(name, ladder["package"], policy, of_versions(own), releases)


@cache
def make_environment(stack):
    """Lock and build a varied stack."""
    lock = Path(f".stacks/locks/{stack}.txt")
    vary(stack, Path("envs"), lock)
    build(lock, Path(f".stacks/{stack}"))


def main(snakemake):
    """All ladders are one campaign, which each call replays.

    A run of a complete block counts for other ladders too, and after a change of versions or metrics: hours may have
    been measured before a version is added.
    """
    params, results = snakemake.params, Path(snakemake.params.results)
    # A run of other arguments is of other code, and one that is older than what was made for it is made again.
    digests = {path: hashlib.sha256(f"{how['code']} {how['job']}".encode()) for path, how in params.cells.items()}
    hows = {parse(path): how | {"code": digests[path].hexdigest()} for path, how in params.cells.items()}
    reads = [Path(file) for file in snakemake.input.reads if file.startswith(params.results)]
    since = max((file.stat().st_mtime for file in reads), default=0.0)
    ladders = zip(params.ladders.items(), map(read_json, snakemake.input.releases), strict=True)
    made: dict[Cell, tables.RunFiles] = {}

    def how(cell):
        places = {"lock": f".stacks/locks/{cell['stack']}.txt", "python": f".stacks/{cell['stack']}/bin/python"}
        return hows[replace(cell.replace(stack=parts_of(cell["stack"])[0]), rep=1)] | places

    def run(name, cell):
        if cell not in made and cell.path in complete:
            made.update(cells.of_campaign(results, complete[cell.path], how, since))
        if cell not in made:
            print(what := f"ladder {name}: {cell['stack']}, {cell.experiment}, repeat {cell.rep}")
            logs.warn(what, passing=True)
            make_environment(cell["stack"])
            made.update(cells.measure(results, cell, how))
        return made[cell]

    seed = specs.order_seed(params.results)
    with opened(results / "campaigns" / "ladders", {"of": "version ladders"}, seed) as campaign:
        complete = {one.folder: one for one in campaign.runs}
        every = [
            search(name, ladder, releases, first, campaign, run)
            for (name, ladder), releases in ladders
            for first in hows
            if first.experiment == ladder["experiment"]
        ]
    steps = [one for one in every if len(one)]  # without steps it has no types of columns to contribute
    table = pd.concat(steps) if steps else pd.DataFrame(columns=COLUMNS)
    tables.write(table, snakemake.output.csv, snakemake.output.parquet)
    files = [str(results / "runs" / cell.path / "run.json") for cell in made]
    outdated.write_stamps(files, str(results / "runs"), snakemake.output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
