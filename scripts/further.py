"""Repeat the cells of undecided planned questions, until all is decided or the budget is used up."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from beyond_ram import logs, outdated, tables
from beyond_ram.analysis.decide import LOOKS
from beyond_ram.analysis.runs import runs as table_of
from beyond_ram.analysis.sequential import open_questions
from beyond_ram.experiment import Cell, parse, specs
from beyond_ram.files import read_json, write
from beyond_ram.measure import cells
from beyond_ram.measure.further import further
from beyond_ram.measure.processes import age_s


def main(snakemake):
    params, results = snakemake.params, Path(snakemake.params.results)
    runs = results / "runs"

    def how(cell):
        return params.cells.get(replace(cell, rep=params.look).path)

    paths = [Path(file).parent.relative_to(runs).as_posix() for file in snakemake.input.runs]
    certain = dict(zip(map(parse, paths), tables.read_runs(snakemake.input.runs), strict=True))
    # If the data or arguments of a cell change, its certain runs are made again, and further ones are older than these.
    began: dict[tuple[str, Any], list[float]] = {}
    for cell, (record, _) in certain.items():
        began.setdefault((cell.experiment, cell.axes), []).append(record.get("started_at") or 0.0)
    since = {cell: min(times) for cell, times in began.items()}
    on_disk = {
        cell: run
        for of in since
        for cell in (Cell(*of, rep) for rep in range(params.look + 1, LOOKS[-1] + 1))
        if (runs / cell.path).exists() and how(cell) and (run := cells.read(runs, cell, how(cell)["code"], since[of]))
    }
    ladders = [read_json(runs / run) for file in snakemake.input.ladders for run in read_json(file)]
    earlier = [*ladders, *(record for record, _ in [*certain.values(), *on_disk.values()])]
    spent_s = sum(record["measuring_s"] for record in earlier)
    most_s = 60 * params.budget_min - spent_s
    spread = pd.read_csv(snakemake.input.session_spread)

    def undecided(so_far):
        return open_questions(table_of([*so_far.values()]), params.pairs, params.questions, spread)

    def once(cell, number):
        def begin():
            used = f"{(spent_s + age_s()) / 60:.1f} of {params.budget_min:g} min"
            print(what := f"further repeat {cell.rep}: {cell.experiment}, {number} undecided; {used}")
            logs.warn(what, passing=True)

        return cells.run(results, cell, how, since[cell.experiment, cell.axes], begin)

    seed = specs.order_seed(params.results)
    repeated = {cell.experiment for cell in map(parse, params.cells)}
    made = further(certain, on_disk, undecided, once, lambda: most_s - age_s(), repeated, params.look, seed)
    listed = sorted((cell for cell in made if cell not in certain), key=lambda cell: (cell.rep, cell.path))
    content = {
        "runs": [cell.path for cell in listed],
        "used_s": round(spent_s + age_s(), 1),
        "undecided": [{"metric": one.line["metric"], **dict(sorted(one.cells[1]))} for one in undecided(made)],
    }
    write(snakemake.output.listed, json.dumps(content, indent=2, default=str) + "\n")
    outdated.write_stamps([str(runs / cell.path / "run.json") for cell in made], str(runs), snakemake.output.stamps)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
