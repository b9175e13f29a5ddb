"""The same work, repeated in one process."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Axis, Contrast, Corpora, Experiment, Matrix, Sizes, Values


class SoakMatrix(Matrix):
    """The axes of the workload `soak`."""

    corpus: Corpora
    num_files: Annotated[Sizes, Axis(label="files", unit="files")] = Field(
        description="Number of files, from the beginning of the corpus."
    )
    subject: Annotated[Values[Literal["tokenizers", "transformers"]], Axis(alone=True), Contrast("transformers")] = (
        Field(description="Library of the tokenizer that does the work.")
    )
    epochs: Annotated[Sizes, Axis(unit="epochs")] = Field([5], description="Repetitions of the work in one process.")


class SoakExperiment(Experiment):
    """The same work, repeated in one process: a warm-up levels off, a leak does not."""

    PROGRAM = "soak.py"
    NAMES_HELD = True

    workload: Literal["soak"]
    matrix: SoakMatrix = Field(description="The axes; every combination is a cell.")
