"""The model of the config. The JSON schema and the tables of docs/configuration.md are generated from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from packaging.version import InvalidVersion, Version
from pydantic import Field, StringConstraints, field_validator

from . import tokens
from .corpora import AS_NUMBER, AnyCorpus, Strict
from .job import Job
from .own_files import Tokenise
from .paths import Cell
from .places import FolderPath, ResultsPath
from .repositories import AnyRepository
from .scripts import Script
from .tokens import OwnLoader, TokenDataset
from .workloads import AnyExperiment, Name, Names
from .workloads.base import Places


class VersionLadder(Strict):
    """A version ladder: one package of an experiment's stacks in several versions; all other packages as locked."""

    experiment: Name = Field(description="Experiment whose cells and stacks are used.")
    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="The package whose version varies."
    )
    versions: Annotated[list[str], Field(min_length=2)] = Field(
        description="The first and the last version, and those between that are run in any case; oldest first."
    )
    metrics: Annotated[list[str], Field(min_length=1)] = Field(
        ["grown_anon_bytes", "peak_grown_anon_bytes"], description="Metrics in which to search for steps."
    )
    bisect: bool = Field(True, description="Whether to search all releases between; else only these versions.")

    @field_validator("versions")
    @classmethod
    def _oldest_first(cls, versions: list[str]) -> list[str]:
        try:
            ordered = {Version(one): one for one in sorted(versions, key=Version)}
        except InvalidVersion as error:
            raise ValueError(f"{error}; a version is such as 4.8.5") from None
        if versions != [*ordered.values()]:
            raise ValueError(f"has to be oldest first, each once: [{', '.join(ordered.values())}]")
        return versions

    def cells(self, cells: Sequence[Cell], version: str) -> list[Cell]:
        """The cells of the experiment with this version of the package in their stack."""
        return [cell.replace(stack=f"{cell['stack']}+{self.package}-{version}") for cell in cells]


class Comparison(Strict):
    """Stacks to compare. Two are compared if both ran the same cell."""

    baselines: Names = Field(description="The reference stacks.")
    candidates: Names = Field(description="The stacks that are compared with them.")

    def pairs(self) -> list[tuple[str, str]]:
        """Every baseline with every candidate."""
        return [(one, other) for one in self.baselines for other in self.candidates if one != other]


class Config(Strict):
    """The config of beyond-ram."""

    defaults: Literal["all", "none"] = Field(
        "all",
        description="`none`: take nothing from `config.yaml`; without `results`, the results of `NAME.yaml` go to "
        "`results-NAME`.",
    )
    folder: FolderPath | None = Field(
        None,
        description="Folder that relative paths, including `results`, are relative to. Default: the folder where "
        "snakemake runs. `beyond-ram run` sets it to the folder where it is called.",
    )
    results: ResultsPath = Field(
        "results",
        description="Folder for everything that is made except environments. It must be new, empty, or have earlier "
        "results.",
    )
    corpora: dict[Name, AnyCorpus] = Field({}, description="Corpora, by name.")
    tokens: dict[Name, TokenDataset] = Field({}, description="Token datasets, by name.")
    loaders: dict[Name, OwnLoader] = Field({}, description="Loaders of your own, by name.")
    scripts: dict[Name, Script] = Field({}, description="Scripts of your own, by name.")
    repositories: dict[Name, AnyRepository] = Field({}, description="Repositories of served runs, by name.")
    experiments: dict[Name, AnyExperiment | None] = Field(
        {}, description="Experiments, by name; `NAME: null` removes one of the default config."
    )

    comparisons: dict[Name, Comparison] = Field(
        {},
        description="Which stacks are compared, by name; default: the first stack of an experiment with each other "
        "one. The lock of a stack before its upgrade is always compared with the present one.",
    )
    ladders: dict[Name, VersionLadder | None] = Field(
        {}, description="Version ladders, by name; `NAME: null` removes one of the default config."
    )

    tokenise: Tokenise | None = Field(None, description="Your own files, as ids: target `tokenise`.")

    only: Names | None = Field(
        None, description="Run only these experiments, and the version ladders over them; default: all."
    )

    budget_min: Annotated[float, Field(ge=0.1), AS_NUMBER] | None = Field(
        None,
        description="Minutes of measuring, with the decisions between runs. Every cell runs twice. The rest of the "
        "time goes to repeats of cells whose planned questions are undecided, the shortest first. Measuring ends early "
        "when all are decided. An experiment with `repeats` runs exactly that often. Default: no budget.",
    )

    def planned(self) -> dict[str, int]:
        """Maximum number of runs of each experiment, with its version ladders. Makes no cells."""
        steps = dict.fromkeys(self.run(), 1)
        for ladder in self.running_ladders().values():
            if ladder.experiment in steps:
                steps[ladder.experiment] += len(ladder.versions)
        return {
            name: steps[name] * (experiment.repeats or self.repeats) * experiment.matrix.size()
            for name, experiment in self.run().items()
        }

    @property
    def repeats(self) -> int:
        """Repeats of experiments without `repeats`."""
        return 2 if self.budget_min else 1

    def cells(self, name: str) -> list[Cell]:
        """The cells of an experiment with their minimum repeats; none if it does not run."""
        experiment = self.run().get(name)
        cells = experiment.cells(name, self.repeats) if experiment else []
        return list(dict.fromkeys(map(self._read_by, cells)))

    def loader_module(self, name: str, root: Path | str = ".") -> str:
        """The file of a loader, the user's own or shipped."""
        own = self.loaders.get(name)
        return own.module if own else str(Path(root, tokens.LOADERS, f"{name}.py"))

    def _read_by(self, cell: Cell) -> Cell:
        """The cell, without its token dataset if an own loader reads other data."""
        own = self.loaders.get(str(cell.get("loader")))
        return cell.replace(tokens="none") if own and own.data and cell.get("tokens") else cell

    def running_ladders(self) -> dict[str, VersionLadder]:
        """The version ladders that run, by name."""
        left_out = self.experiments.keys() - self.run().keys()
        return {name: ladder for name, ladder in self.ladders.items() if ladder and ladder.experiment not in left_out}

    def run(self) -> dict[str, AnyExperiment]:
        """The experiments that run, by name."""
        names = self.experiments if self.only is None else self.only
        return {name: experiment for name, experiment in self.experiments.items() if experiment and name in names}

    def job(self, cell: Cell) -> Job:
        """The job of a cell of a running experiment, or of a ladder over it."""
        return self.run()[cell.experiment].job(cell, Places(self.results, self.loaders, self.scripts))
