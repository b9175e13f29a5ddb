"""The model of the config. The JSON schema and the tables of docs/configuration.md are generated from it."""

from pydantic import Field

from .corpora import AnyCorpus, Strict
from .paths import Cell
from .workloads import AnyExperiment, Name


class Config(Strict):
    """The config of beyond-ram."""

    results: str = Field("results", description="Folder of everything that is made, but for environments.")
    corpora: dict[Name, AnyCorpus] = Field(description="Corpora, by name.")
    experiments: dict[Name, AnyExperiment | None] = Field(
        description="Experiments, by name; `NAME: null` takes one of the default config away."
    )

    def cells(self, name: str) -> list[Cell]:
        experiment = self.experiments[name]
        return experiment.cells(name) if experiment else []

    def run(self) -> dict[str, AnyExperiment]:
        """The experiments that are run, by name."""
        return {name: experiment for name, experiment in self.experiments.items() if experiment}

    def named(self, *workloads: str) -> list[str]:
        """The experiments of some workloads."""
        return [name for name, experiment in self.run().items() if experiment.workload in workloads]
