"""Any Python file, unchanged."""

import json
import shlex
from typing import Annotated, Literal

from pydantic import Field

from ..job import Job, Served
from ..paths import Cell
from .base import Axis, Compared, Experiment, Matrix, Name, Names, Places, Values

NO_ARGUMENTS = "none"


class ScriptMatrix(Matrix):
    """The axes of the workload `script`."""

    script: Annotated[Names, Axis("input", alone=True)] = Field(description="Scripts, by name.")
    arguments: Annotated[Values[Name], Axis(alone=True, nothing="")] = Field(
        [NO_ARGUMENTS],
        description="Arguments of the script, by name; `none` gives it none. They are not compared: use `side`.",
    )
    side: Annotated[Values[Name], Axis(alone=True, nothing="no further arguments"), Compared("first")] = Field(
        [NO_ARGUMENTS], description="Further arguments of the script, by name: each is compared with the first."
    )


def arguments(file: str, words: list[str]) -> tuple[str, ...]:
    """The flags of the program for a file and its arguments."""
    return "--script", file, "--arguments", json.dumps(words)


class ScriptExperiment(Experiment):
    """Any Python file, unchanged: memory at its end, peak, time, and a hash of its output."""

    PROGRAM = "script.py"
    CHECKED = True
    NAMES_HELD = True

    workload: Literal["script"]
    matrix: ScriptMatrix = Field(description="The axes; every combination is a cell.")

    def job(self, cell: Cell, places: Places) -> Job:
        script = places.scripts[str(cell["script"])]
        named = (str(cell["arguments"]), str(cell["side"]))
        words = [word for name in named if name != NO_ARGUMENTS for word in shlex.split(script.arguments[name])]
        tokens = places.of("tokens", script.tokens) if script.tokens else None
        job = (
            super()
            .job(cell, places)
            .but(
                arguments=arguments(script.file, words),
                corpus=places.of("corpora", script.corpus) if script.corpus else None,
                tokens=tokens,
                reads=(script.file, *(f"{tokens}/{name}" for name in script.formats)),
            )
        )
        if script.repository:
            repository = places.of("repositories", script.repository)
            job = job.but(served=Served(repository=repository, conditions={"latency_ms": script.latency_ms}))
        return job
