"""The same work again and again in one process."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Compared, Corpora, Experiment, Matrix, Sizes, Values


class SoakMatrix(Matrix):
    """The axes of the workload `soak`."""

    corpus: Corpora
    num_files: Annotated[Sizes, Axis(label="files", unit="files")] = Field(
        description="The first so many files of the corpus."
    )
    subject: Annotated[
        Values[Literal["tokenizers", "tokenizers-fast", "transformers", "dataset"]],
        Axis(alone=True),
        Compared("encoders", "transformers"),
    ] = Field(
        description="What does the work: `tokenizers` alone, the same without offsets (`encode_batch_fast`, or "
        "`ids_array` in releases that have that), a tokenizer of `transformers`, or a dataset that is read."
    )
    between: Annotated[
        Values[Literal["nothing", "reload", "clear-cache", "no-cache", "deepcopy", "pickle", "workers", "reopen"]],
        Axis(label="after each epoch"),
    ] = Field(["nothing"], description="What is done after every epoch.")
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field(
        [5], description="How often the same work is done in one process."
    )


class SoakExperiment(Experiment):
    """The same work again and again in one process: a warm-up levels off, a leak does not."""

    PROGRAM = "soak.py"

    workload: Literal["soak"]
    matrix: SoakMatrix = Field(description="The axes; every combination is a cell.")
