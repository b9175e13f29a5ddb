"""The workloads, a module each. This file finds every module of the folder."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Field

from .base import Axes, Axis, Experiment, Name, Names

__all__ = ["AXES", "WORKLOADS", "AnyExperiment", "Axis", "Experiment", "Name", "Names"]


def _find() -> dict[str, type[Experiment]]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted((kind.name(), kind) for kind in Experiment.__subclasses__()))


def _axes() -> Axes:
    axes = Axes()
    for name, kind in WORKLOADS.items():
        for axis, described in kind.axes().items():
            if axes.setdefault(axis, described) != described:
                raise TypeError(f"workload {name}: axis {axis!r} is described otherwise by another workload")
    return axes


WORKLOADS = _find()
"""Experiment classes, by the name of their workload."""
AXES = _axes()
"""Every axis by name. An axis of several workloads is the same in all."""

if TYPE_CHECKING:
    AnyExperiment = Experiment
else:
    AnyExperiment = Annotated[Union[tuple(WORKLOADS.values())], Field(discriminator="workload")]  # noqa: UP007
