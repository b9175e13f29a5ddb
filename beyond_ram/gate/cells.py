"""The cells that a gate weighs: shipped sets of small ones, or a config of one's own."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..experiment import Cell, Config, ConfigError, content_of, load, merge
from ..files import write
from ..stacks.locks import has_package

SETS = Path("config", "gate")
NOT_WEIGHED = "a gate weighs whole runs only, and no search for a limit"


@dataclass(frozen=True)
class Cells:
    """Cells, each at its first repeat, and the config that they are of."""

    config: Config
    file: Path
    """The config, for Snakemake."""
    cells: tuple[Cell, ...]

    @property
    def bases(self) -> list[str]:
        """The stacks that the cells name."""
        return list(dict.fromkeys(str(cell["stack"]) for cell in self.cells))


def shipped(project: Path) -> dict[str, Path]:
    """The shipped sets, by name."""
    return {file.stem: file for file in sorted((project / SETS).glob("*.yaml"))}


def choose(wanted: Sequence[str], packages: Collection[str], out: Path, project: Path, folder: Path) -> Cells:
    """The cells of some shipped sets, by name, and of files; by default of all sets.

    Of a set only cells are taken whose stack has one of the `packages`; of a file all. The config goes to `out`. Raises
    ConfigError, also where there is no such set or file, or no cell is left.
    """
    sets = shipped(project)
    files = [sets[name] if name in sets else folder / name for name in wanted or sets]
    for name, file in zip(wanted, files, strict=False):
        if not file.is_file():
            raise ConfigError(f"there is no file {name}, and no set of that name (there are: {', '.join(sets)})")
    given = {"results": str(out / "results")} | ({"folder": str(folder)} if folder != project else {})
    merged, read = merge.read([project / "config.yaml"], files, given, content_of)
    config = load(merged, read, project, given)
    own = [name for file in files if file not in sets.values() for name in content_of(file).get("experiments", {})]
    found = []
    for cell in (cell for name in config.run() for cell in config.cells(name) if cell.rep == 1):
        lock = project / "envs" / f"{cell['stack']}.txt"
        if cell.experiment in own or any(has_package(lock, package) for package in packages):
            found.append(cell)
    for cell in found:
        if config.job(cell).find_limit or cell.get("cache", "cold") != "cold":
            raise ConfigError(f"{cell.experiment}: {NOT_WEIGHED}")
    if not found:
        raise ConfigError(
            f"no stack of these cells has {' or '.join(sorted(packages))}; name a config of your own with --cells"
        )
    out.mkdir(parents=True, exist_ok=True)
    file = out / "cells.yaml"
    write(file, yaml.safe_dump(merged | {"defaults": "none"}, sort_keys=False))
    return Cells(config, file, tuple(found))
