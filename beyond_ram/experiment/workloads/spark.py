"""A repository, read into Spark and written back."""

from typing import Literal

from pydantic import Field

from .base import Matrix, Repositories, ServedExperiment


class SparkMatrix(Matrix):
    """The axes of the workload `spark`."""

    repository: Repositories = Field(description="Repositories, by name; with source `parquet`.")


class SparkExperiment(ServedExperiment):
    """A repository, read into Spark and written back: which steps work."""

    PROGRAM = "spark_source.py"
    SOURCES = ("parquet",)
    PUSHES = True

    workload: Literal["spark"]
    matrix: SparkMatrix = Field(description="The axes; every combination is a cell.")
