"""Renew the generated blocks of the pages, or the tables that they quote.

uv run python docs/renew.py                     # blocks of README.md and docs/, from docs/measured and the code
uv run python docs/renew.py --check             # list pages that are not as they would be made; exit status 1 if any
uv run python docs/renew.py default results     # copy the tables of set `default` from a results folder
uv run python docs/renew.py sessions A B C …    # renew the shipped spread between sessions, from several results
"""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import described
import measured
import pandas as pd
import sessions
import yaml
from cogapp import Cog

from beyond_ram.files import write
from beyond_ram.measure.processes import commit
from beyond_ram.metrics import METRICS
from beyond_ram.units import GB, MB
from beyond_ram.workflow.chapters import SHIPPED_SPREAD

ROOT = measured.FOLDER.parents[1]
SCHEMA = ROOT / "schemas" / "config.schema.json"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


_PLACE = ["cpu_count", "machine_memory_bytes", "kernel", "architecture", "cgroup_version"]


@dataclass(frozen=True)
class Set:
    """A set of tables, and the command whose results folder has them."""

    command: str
    tables: Sequence[str]
    figures: Sequence[str] = ()


SETS = {
    "default": Set(
        "uv run snakemake --cores 4",
        ("comparisons", "growth", "ladders", "limits", "loaders"),
        ("growth_by_input", "attempts", "loading_limit"),
    ),
    "holders": Set(
        "uv run snakemake --cores 2 --config 'only=[growth]' budget_min=0.1",
        ("holders",),
    ),
    "tokenizers": Set(
        "uv run snakemake tokenize limit scripts --cores 4 --configfile config/tokenizers.yaml",
        ("growth", "reported"),
    ),
    "quoted": Set(
        "uv run snakemake --cores 4 --configfile config/quoted.yaml",
        ("comparisons", "streaming"),
    ),
    "reported": Set(
        "uv run snakemake --cores 2 --configfile config/quoted.yaml --config 'only=[frames, chunking]'",
        ("comparisons", "reported"),
    ),
    "xet-reads": Set(
        "uv run snakemake stream --cores 2 --configfile config/streaming.yaml --config 'only=[by-xet]'",
        ("streaming",),
    ),
}  # fmt: skip


def take(name: str, results: Path) -> None:
    """Replace a set by the tables of a results folder, without empty columns."""
    wanted = SETS[name]
    tables = {table: _text(results / "tables" / f"{table}.csv") for table in wanted.tables}
    runs = measured.read(results / "tables" / "runs.csv")
    folder = _emptied(name)
    for table, lines in tables.items():
        lines.loc[:, lines.ne("").any()].to_csv(folder / f"{table}.csv", index=False, lineterminator="\n")
    for figure in wanted.figures:
        shutil.copy(results / "figures" / f"{figure}.png", ROOT / "docs" / "images")

    began, ended = (results / made for made in (".beyond-ram-results", "report.html"))
    took = {"minutes": round((ended.stat().st_mtime - began.stat().st_mtime) / 60)} if ended.exists() else {}
    _write_provenance(name, {"command": wanted.command, **took, **provenance(runs)})


def take_gates(results: Path) -> None:
    """Replace set `gate` by the confirmed changes of some gates; `results` has a folder for each."""
    lines, of_runs = [], []
    for folder in sorted(path.parent for path in results.glob("*/gate.json")):
        gate = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
        requirements = {side["side"]: side["requirement"] for side in gate["requirements"]}
        of_runs.append(measured.read(folder / "runs.csv"))
        lines += [_change(change, requirements) | {"minutes": gate["measuring_s"] / 60} for change in gate["changes"]]
    shown = pd.DataFrame(lines)
    shown = shown[shown["result"].isin(["worse", "better"])]
    shown.to_csv(_emptied("gate") / "changes.csv", index=False, lineterminator="\n")
    command = "uv run beyond-ram gate --baseline … --candidate … --cells read|files --budget 4"
    _write_provenance("gate", {"command": command, **provenance(pd.concat(of_runs))})


def take_atlas(results: Path) -> None:
    """Replace set `atlas` by the tables of an atlas."""
    folder = measured.FOLDER / "atlas"
    for name in ("cells.csv", "steps.csv"):
        shutil.copy(results / name, folder)
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("runs/*/**/run.json"))]
    of = [{**one["provenance"], "started_at": one["started_at"]} for one in records]
    runs = pd.DataFrame(of).assign(commit=commit(), stack="", lock_sha256="")
    content = {"command": "uv run beyond-ram atlas", **provenance(runs), "locks": {}}
    content["note"] = f"{len(records):,} runs took {sum(one['duration_s'] for one in records) / 3600:.1f} hours."
    _write_provenance("atlas", content)


def take_sessions(results: Sequence[Path]) -> None:
    """Replace the shipped spread between sessions by what several results folders of one config and machine show."""
    of_tables = {
        name: [measured.read(one / "tables" / f"{name}.csv") for one in results] for name in ("runs", "comparisons")
    }
    pairs = {
        pair
        for compared in of_tables["comparisons"]
        for pair in compared.loc[compared["axis"] == "stack", ["before", "after"]].itertuples(index=False, name=None)
    }
    shipped = sessions.measured(of_tables["runs"], sorted(pairs))
    shipped.to_csv(ROOT / SHIPPED_SPREAD, index=False, float_format="%.4g", lineterminator="\n")
    _write_provenance("sessions", {"command": SETS["default"].command, **provenance(pd.concat(of_tables["runs"]))})


def _change(change: dict[str, Any], requirements: dict[str, str]) -> dict[str, Any]:
    """Return a gate's line of a metric, in MB or the metric's unit, with separate intervals of ratio and difference."""
    metric = METRICS[change["metric"]]
    unit, scale = ("MB", MB) if metric.unit == "bytes" else (metric.unit, 1)
    line = {**requirements, "metric": metric.label, "result": change["result"], "unit": unit, "n": change["n"]}
    line |= {f"{side}_value": change[side] / scale for side in requirements}
    for effect, of in (("ratio", 1), ("difference", scale)):
        compared = change[effect] is not None
        ends = {effect: effect, f"{effect}_low": "low", f"{effect}_high": "high"}
        line |= {name: change[key] / of if compared else None for name, key in ends.items()}
    return line


def _emptied(name: str) -> Path:
    """Remove the tables of a set and return its folder."""
    folder = measured.FOLDER / name
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.csv"):
        old.unlink()
    return folder


def _write_provenance(name: str, content: dict[str, object]) -> None:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    (measured.FOLDER / name).mkdir(exist_ok=True)
    write(measured.FOLDER / name / "provenance.yaml", text)


def _text(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def provenance(runs: pd.DataFrame) -> dict[str, object]:
    """Return when, where and with which locks the runs of a results folder were made."""
    began = [datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d") for second in runs["started_at"].dropna()]
    places = runs[_PLACE].dropna()
    return {
        "commit": _distinct(runs["commit"]),
        "date": _distinct(pd.Series(began)),
        "machine": _distinct(
            pd.Series(
                f"{place.cpu_count:.0f} cores, {place.machine_memory_bytes / GB:.0f} GB, Linux {place.kernel} "
                f"{place.architecture}, cgroup v{place.cgroup_version:.0f}"
                for place in places.itertuples()
            )
        ),
        "locks": {str(stack): _distinct(lines["lock_sha256"].str[:8]) for stack, lines in runs.groupby("stack")},
    }


def _distinct(values: "pd.Series[str]") -> str:
    return " and ".join(sorted(values.dropna().unique()))


def pages(*options: str, files: Sequence[Path] = PAGES) -> int:
    """Run cog over pages; its exit status."""
    status: int = Cog().main(
        ["cog", *options, "-P", "-p", "import described\nfrom measured import *", *map(str, files)]
    )
    return status


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        write(SCHEMA, described.schema())
    if not arguments or arguments == ["--check"]:
        return pages(*(["--check"] if arguments else ["-r"]))
    name, *results = arguments[0], *map(Path, arguments[1:])
    others = {"gate": take_gates, "atlas": take_atlas}
    if name not in (*SETS, *others, "sessions") or (len(results) < 2 if name == "sessions" else len(results) != 1):
        sets = ", ".join([*SETS, *others])
        print(
            f"python docs/renew.py [--check], a set ({sets}) and its results, or sessions and several", file=sys.stderr
        )
        return 2
    try:
        if name == "sessions":
            take_sessions(results)
        else:
            take(name, *results) if name in SETS else others[name](*results)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
