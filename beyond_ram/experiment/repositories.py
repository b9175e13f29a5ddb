"""The repositories of a config: what a served run streams from."""

from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from .corpora import Strict


class ParquetRepository(Strict):
    """A generated repository of Parquet files, served by the local endpoint. Every row carries its number."""

    source: Literal["parquet"]
    files: PositiveInt = Field(description="Parquet files, over all folders and configurations.")
    folders: PositiveInt = Field(1, description="Folders that the files of a configuration are spread over.")
    configs: PositiveInt = Field(1, description="Configurations; the first one is streamed.")
    rows_per_file: PositiveInt = Field(description="Rows in a file.")
    row_group_rows: PositiveInt = Field(description="Rows in a row group.")
    row_bytes: PositiveInt = Field(description="Bytes of a row's payload, random ones.")
    seed: NonNegativeInt = Field(1, description="Seed of the payloads.")

    @model_validator(mode="after")
    def _every_folder_has_a_file(self) -> "ParquetRepository":
        if self.files % (self.folders * self.configs):
            raise ValueError(f"{self.files} files cannot be spread evenly over folders times configs")
        return self

    def spec(self) -> dict[str, Any]:
        """What the repository's program is told."""
        return self.model_dump(mode="json")


class HubRepository(Strict):
    """A dataset of a Hub of your choice, for experiments with an `endpoint`. Its rows are counted, not checked."""

    source: Literal["hub"]
    id: str = Field(description="Repository id, such as `stanfordnlp/imdb`.")
    config: str | None = Field(None, description="Configuration of the dataset.")
    split: str = Field("train", description="Split.")

    def spec(self) -> dict[str, Any]:
        """What the repository's program is told."""
        return self.model_dump(mode="json")


AnyRepository = Annotated[ParquetRepository | HubRepository, Field(discriminator="source")]
