"""Any Python file, unchanged."""

import json
import shlex
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, WithJsonSchema

from ..job import Job, Served
from ..paths import VALUE, Cell, Value
from .base import Axis, Contrast, Experiment, Matrix, Name, Names, Places, Values, is_flag

NO_ARGUMENTS = "none"
Text = Annotated[
    str,
    StringConstraints(pattern=f"^{VALUE.pattern}$"),
    Field(coerce_numbers_to_str=True),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]}),
]
"""A value of a flag. A number in the config is its text, because one column has numbers and words."""


class ScriptMatrix(Matrix):
    """The axes of the workload `script`."""

    script: Annotated[Names, Axis("input", alone=True)] = Field(description="Scripts, by name.")
    arguments: Annotated[Values[Name], Axis(alone=True, nothing="")] = Field(
        [NO_ARGUMENTS],
        description="Arguments of the script, by name; `none` gives it none. They are not compared: use `side` or "
        "`flags`.",
    )
    side: Annotated[Values[Name], Axis(alone=True, nothing="no further arguments"), Contrast("first")] = Field(
        [NO_ARGUMENTS], description="Further arguments of the script, by name: each is compared with the first."
    )
    flags: dict[Name, Values[Text]] = Field(
        {},
        description="Flags of the script, by name, with their values: `threads: [1, 4]` is `--threads 1` and "
        "`--threads 4`. Each is an axis of its own, such as `--threads`, whose values are compared with the first.",
    )

    def values(self) -> dict[str, list[Value]]:
        flags: dict[str, list[Value]] = {f"--{name}": [*values] for name, values in self.flags.items()}
        return super().values() | flags


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
        words += [str(word) for flag in cell.axes if is_flag(flag[0]) for word in flag]
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
