"""Make a table or figure from the inputs that its rule declares."""

import importlib
import runpy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..analysis.outcomes import counted
from ..records import tables
from ..records.collected import Runs, Samples

if TYPE_CHECKING:
    from ..figures import Drawn


def table(name: str, arguments: Mapping[str, Any], runs: Runs) -> pd.DataFrame:
    """Table NAME, made by its function, with counts of the runs behind each line.

    `runs` are all planned runs, including those without a record.
    """
    function = getattr(importlib.import_module(f"beyond_ram.analysis.{name}"), name)
    return counted(function(**arguments), runs.outcomes())


def figure(script: Path | str, arguments: Mapping[str, Any]) -> "Drawn":
    """The function `plot` of a figure's script. Raises FileNotFoundError if there is no such script."""
    from .. import figures  # imports matplotlib and seaborn, which takes two seconds and which tables do not need

    figures.theme()
    drawn: Drawn = runpy.run_path(str(script))["plot"](**arguments)
    if not isinstance(drawn, str) and not (isinstance(drawn, tuple) and len(drawn) == 2):
        raise TypeError(f"{script}: plot returns a figure and its caption, or why nothing is drawn; not {type(drawn)}")
    return drawn


def arguments(
    needs: Iterable[str], inputs: Mapping[str, Any], pairs: Sequence[Any] = (), questions: Sequence[Any] = ()
) -> dict[str, Any]:
    """The arguments of a table's or figure's function, read from its inputs.

    `inputs` has the files of its runs (`collected`) and of their samples (`samples`), the `locks` and requirements of
    stacks, and a path per table. A table that is not made is None.
    """
    values: dict[str, Any] = {"pairs": pairs, "questions": questions}
    for name in needs:
        if name == "records":
            values[name] = Runs(inputs["collected"])
        elif name == "samples":
            values[name] = Samples(inputs["samples"], Runs(inputs["collected"]))
        elif name == "locks":
            files = [Path(path) for path in inputs["locks"]]
            values[name] = {
                file.stem if file.suffix == ".txt" else file.name: file.read_text(encoding="utf-8") for file in files
            }
        elif name == "session_spread":
            values[name] = pd.read_csv(inputs[name])
        elif name not in values:
            values[name] = None if inputs.get(name) is None else tables.read(inputs[name])
    return {name: values[name] for name in needs}
