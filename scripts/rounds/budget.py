"""One round of a budget: which runs are weighed next, from those before."""

import json
from pathlib import Path

import pandas as pd

from beyond_ram import logs, tables
from beyond_ram.analysis.runs import runs
from beyond_ram.experiment import parse
from beyond_ram.files import read_json, write
from beyond_ram.rounds.planned import next_runs, spent_s


def main(snakemake):
    files, given = snakemake.input.runs, snakemake.params
    records = tables.read_runs(files)
    cells = [parse(Path(file).parent.relative_to(given.runs).as_posix()) for file in files]
    weighed = {cell: record for cell, (record, _) in zip(cells, records, strict=True)}
    left_s = 60 * given.budget_min - sum(spent_s(read_json(file, "duration_s")) for file in snakemake.input.ladders)
    spread = pd.read_csv(snakemake.input.shipped_spread)
    decided = next_runs(weighed, runs(records), given.repeated, given.pairs, given.questions, left_s, spread)
    asked = [run for file in snakemake.input.rounds for run in read_json(file, "runs")["runs"]]
    round_ = {
        "runs": [*asked, *(cell.path for cell in decided.runs)],
        "done": not decided.runs,
        "used_s": round(decided.used_s, 1),
        "undecided": decided.undecided,
    }
    write(snakemake.output[0], json.dumps(round_, indent=2) + "\n")


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
