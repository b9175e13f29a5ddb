"""The cells of a gate: shipped sets of small ones, or your own config."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..experiment import Cell, Config, ConfigError, content_of, load, merge
from ..experiment.workloads.script import ScriptExperiment
from ..files import write
from ..stacks import scripts
from ..stacks.inline import read
from ..stacks.locks import ENVS, has_package

SETS, FILE = Path("config", "gate"), "cells.yaml"
NOT_MEASURED = "a gate measures whole runs only, and no search for a limit"


@dataclass(frozen=True)
class GateCells:
    """Cells, each at its first repeat, and the config that they are of."""

    config: Config
    cells: tuple[Cell, ...]
    left_out: tuple[str, ...] = ()
    """Scripts that require none of the packages."""

    @property
    def bases(self) -> list[str]:
        """The stacks that the cells name."""
        return list(dict.fromkeys(str(cell["stack"]) for cell in self.cells))


def of_scripts(files: Sequence[Path], packages: Collection[str], out: Path, stack: Path | None = None) -> GateCells:
    """A cell for each script that requires one of the `packages`, on a stack with its requirements, and with the
    packages of the lock of a `stack`; the locks go to `out`/envs.

    Raises ConfigError, also where no script is left; ValueError, StackError.
    """
    stems = [re.sub(r"[^a-z0-9._-]", "-", file.stem.lower()).lstrip("._-") or "script" for file in files]
    if twice := sorted({stem for stem in stems if stems.count(stem) > 1}):
        raise ConfigError(f"{', '.join(twice)}: two scripts of this name")
    content: dict[str, Any] = {"defaults": "none", "results": str(out / "results"), "scripts": {}, "experiments": {}}
    left_out = []
    for stem, file in zip(stems, files, strict=True):
        inline = read(file, stack=stack)
        base = out / ENVS / f"{stem}.in"
        base.parent.mkdir(parents=True, exist_ok=True)
        write(base, "".join(f"{line}\n" for line in inline.requirements))
        if not scripts.locked(inline, base.with_suffix(".txt")).pins.keys() & set(packages):
            left_out.append(file.name)
            continue
        content["scripts"][stem] = {"file": str(file)}
        matrix = {"stack": [stem], "script": [stem]}
        content["experiments"][stem] = {"workload": ScriptExperiment.name(), "matrix": matrix}
    if not content["scripts"]:
        names = " or ".join(sorted(packages))
        raise ConfigError(
            f"none of these scripts requires {names}: {', '.join(left_out)}; name it in the script's own metadata, "
            f'# dependencies = ["{min(packages)}"]'
        )
    config = load(content, (), out)
    return GateCells(config, tuple(cell for name in config.run() for cell in config.cells(name)), tuple(left_out))


def shipped(project: Path) -> dict[str, Path]:
    """The shipped sets, by name."""
    return {file.stem: file for file in sorted((project / SETS).glob("*.yaml"))}


def choose(wanted: Sequence[str], packages: Collection[str], out: Path, project: Path, folder: Path) -> GateCells:
    """The cells of some shipped sets, by name, and of files; by default of all sets.

    Of a set only cells are taken whose stack has one of the `packages`; of a file all. The config is written to `out`,
    for Snakemake. Raises ConfigError, also where there is no such set or file, or no cell is left.
    """
    sets = shipped(project)
    files = [sets[name] if name in sets else folder / name for name in wanted or sets]
    for name, file in zip(wanted, files, strict=False):
        if not file.is_file():
            raise ConfigError(f"there is no file {name}, and no set of that name (there are: {', '.join(sets)})")
    given = {"results": str(out / "results")} | ({"folder": str(folder)} if folder != project else {})
    merged, read = merge.read([project / "config.yaml"], files, given, content_of)
    for script in (one for file in files if file in sets.values() for one in content_of(file).get("scripts", {})):
        merged["scripts"][script]["file"] = str(project / merged["scripts"][script]["file"])
    config = load(merged, read, project, given)
    own = [name for file in files if file not in sets.values() for name in content_of(file).get("experiments", {})]
    cells = []
    for cell in (cell for name in config.run() for cell in config.cells(name) if cell.rep == 1):
        lock = project / "envs" / f"{cell['stack']}.txt"
        if cell.experiment in own or any(has_package(lock, package) for package in packages):
            cells.append(cell)
    for cell in cells:
        if config.job(cell).find_limit or cell.get("cache", "cold") != "cold":
            raise ConfigError(f"{cell.experiment}: {NOT_MEASURED}")
    if not cells:
        raise ConfigError(
            f"no stack of these cells has {' or '.join(sorted(packages))}; name a config of your own with --cells"
        )
    out.mkdir(parents=True, exist_ok=True)
    write(out / FILE, yaml.safe_dump(merged | {"defaults": "none"}, sort_keys=False))
    return GateCells(config, tuple(cells))
