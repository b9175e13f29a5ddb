"""One round of a budget: decide from the earlier runs which runs come next."""

import json
from pathlib import Path

import pandas as pd

from beyond_ram import logs, tables
from beyond_ram.analysis.runs import runs
from beyond_ram.experiment import parse
from beyond_ram.files import read_json, write
from beyond_ram.rounds.planned import next_runs, running_s, spent_s


def main(snakemake):
    files, params = snakemake.input.runs, snakemake.params
    records = tables.read_runs(files)
    cells = [parse(Path(file).parent.relative_to(params.runs).as_posix()) for file in files]
    weighed = {cell: record for cell, (record, _) in zip(cells, records, strict=True)}
    ladder_runs = [read_json(file, "duration_s") for file in snakemake.input.ladder_runs]
    ladder_rounds = [read_json(file, "deciding_s") for file in snakemake.input.ladder_rounds]
    earlier_rounds = [read_json(file, "deciding_s") for file in snakemake.input.rounds]
    spread = pd.read_csv(snakemake.input.shipped_spread)
    table = runs(records)

    deciding_s = sum(one["deciding_s"] for one in earlier_rounds) + running_s()
    ladders_s = sum(map(spent_s, ladder_runs)) + sum(one["deciding_s"] for one in ladder_rounds)
    left_s = 60 * params.budget_min - deciding_s - ladders_s
    decided = next_runs(weighed, table, params.repeated, params.pairs, params.questions, left_s, spread)
    requested = [run for one in earlier_rounds for run in one["runs"]]
    round_ = {
        "runs": [*requested, *(cell.path for cell in decided.runs)],
        "done": not decided.runs,
        "used_s": round(decided.used_s, 1),
        "deciding_s": round(deciding_s, 1),
        "undecided": decided.undecided,
    }
    write(snakemake.output[0], json.dumps(round_, indent=2) + "\n")


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
