"""The repositories of a config: sources of served runs."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from .corpora import NonNegativeInt, PositiveInt, Strict


class Repository(Strict):
    """Common keys of all repositories."""

    STACK: ClassVar = "corpora"
    """The stack of the program that makes it."""

    def spec(self) -> dict[str, Any]:
        """The settings of the repository's program."""
        return self.model_dump(mode="json")


class ParquetRepository(Repository):
    """A generated repository of Parquet files, served by the local endpoint. Every row contains its number."""

    source: Literal["parquet"]
    files: PositiveInt = Field(description="Number of Parquet files, over all folders and configurations.")
    folders: PositiveInt = Field(1, description="Number of folders for the files of a configuration.")
    configs: PositiveInt = Field(1, description="Number of configurations; the first one is streamed.")
    rows_per_file: PositiveInt = Field(description="Rows per file.")
    row_group_rows: PositiveInt = Field(description="Rows per row group.")
    row_bytes: PositiveInt = Field(description="Random bytes per row.")
    seed: NonNegativeInt = Field(1, description="Seed of the payloads.")

    @model_validator(mode="after")
    def _every_folder_has_a_file(self) -> "ParquetRepository":
        if self.files % (self.folders * self.configs):
            raise ValueError(f"{self.files} files cannot be spread evenly over folders times configs")
        return self


class HubRepository(Repository):
    """A dataset on a Hub of your choice, for experiments with an `endpoint`. Its rows are counted but not checked."""

    source: Literal["hub"]
    id: str = Field(description="Repository id, such as `stanfordnlp/imdb`.")
    config: str | None = Field(None, description="Configuration of the dataset.")
    split: str = Field("train", description="Split.")


class WebDatasetRepository(Repository):
    """Generated tar files with numbered samples, for WebDataset."""

    source: Literal["webdataset"]
    files: PositiveInt = Field(description="Tars.")
    samples_per_file: PositiveInt = Field(description="Samples per tar file.")
    sample_bytes: PositiveInt = Field(description="Random bytes per sample.")
    seed: NonNegativeInt = Field(1, description="Seed of the payloads.")


class VideoRepository(Repository):
    """A generated video: H.264 in MP4, with the index at the beginning. Every frame shows its number."""

    STACK = "hub-files"

    source: Literal["video"]
    seconds: Annotated[PositiveInt, Field(le=2600)] = Field(description="Length in seconds, of 25 frames each.")


AnyRepository = Annotated[
    ParquetRepository | HubRepository | WebDatasetRepository | VideoRepository, Field(discriminator="source")
]
