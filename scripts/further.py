"""Repeat the cells of undecided planned questions, until all is decided or the budget is used up."""

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pandas as pd

from beyond_ram.analysis.frame import key
from beyond_ram.analysis.runs import runs as table_of
from beyond_ram.analysis.sequential import open_questions
from beyond_ram.experiment import parse, specs
from beyond_ram.files import read_json, write
from beyond_ram.measure import cells
from beyond_ram.measure.campaign import opened
from beyond_ram.measure.further import FurtherPolicy, member_of, run_of
from beyond_ram.measure.processes import age_s
from beyond_ram.records import tables
from beyond_ram.workflow import logs, outdated


def main(snakemake):
    params, results = snakemake.params, Path(snakemake.params.results)
    runs = results / "runs"
    paths = [Path(file).parent.relative_to(runs).as_posix() for file in snakemake.input.runs]
    certain = dict(zip(map(parse, paths), tables.read_runs(snakemake.input.runs), strict=True))
    # If the data or arguments of a cell change, its certain runs are made again, and further ones are older than these.
    latest_first = sorted((run_of(cell, run) for cell, run in certain.items()), key=lambda run: -run.started_at)
    since = {run.member: run.started_at for run in latest_first}
    repeated = {member_of(cell): cell for cell in map(parse, params.cells)}
    members = {key(cell.parameters()): member for member, cell in repeated.items()}
    # The runs of each folder: a run, and its rerun if it is interrupted.
    made = {cell.path: {cell: run} for cell, run in certain.items()}
    spread = pd.read_csv(snakemake.input.session_spread)

    def how(cell):
        return params.cells[replace(cell, rep=params.look).path]

    def undecided(of):
        read = chain.from_iterable(made[run.folder].values() for run in of)
        return open_questions(table_of([*read]), params.pairs, params.questions, spread)

    def once(member, number, block):
        cell = replace(repeated[member], rep=number)
        made[cell.path] = cells.measure(results, cell, how)
        return run_of(cell, made[cell.path][cell], block)

    def show(line):
        print(line)
        logs.warn(line, passing=True)

    seed = specs.order_seed(params.results)
    with opened(results / "campaigns" / "further", {"of": "further repeats"}, seed) as campaign:
        for run in campaign.runs:
            if run.member in repeated and run.number > params.look:
                made |= {run.folder: cells.of_campaign(results, run, how, since[run.member])}
        campaign.runs = [run_of(cell, run) for path in made for cell, run in made[path].items() if cell.path == path]
        ladders = [read_json(runs / run) for file in snakemake.input.ladders for run in read_json(file)]
        earlier = [*ladders, *(record for of in made.values() for record, _ in of.values())]
        campaign.earlier_s = sum(record["measuring_s"] for record in earlier) + age_s()
        campaign.once, campaign.show = once, show
        campaign.run(FurtherPolicy(undecided, members, params.look, seed), 60 * params.budget_min)
        listed = {cell for of in made.values() for cell in of} - {*certain}
        content = {
            "runs": [cell.path for cell in sorted(listed, key=lambda cell: (cell.rep, cell.path))],
            "used_s": round(campaign.used_s, 1),
            "undecided": [
                {"metric": one.line["metric"], **dict(sorted(one.cells[1]))} for one in undecided(campaign.runs)
            ],
        }
    write(snakemake.output.listed, json.dumps(content, indent=2, default=str) + "\n")
    stamped = [str(runs / cell.path / "run.json") for cell in (*certain, *listed)]
    outdated.write_stamps(stamped, str(runs), snakemake.output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
