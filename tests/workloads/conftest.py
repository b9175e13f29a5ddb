"""Datasets and corpora that tests of workloads share."""

import numpy
import pytest

from ..conftest import once
from . import encoding
from .tokens import FAMILIES, ROWS, SHARED, generate, make_dataset


@pytest.fixture(scope="session")
def dataset(shared):
    return once(shared / "tokens", lambda folder: generate(folder, SHARED))


@pytest.fixture(scope="session")
def own(shared):
    """Make a dataset of a user's file: rows of odd length without numbers, some of them equal."""
    file = shared / "train.npy"  # the dataset links to it

    def make(folder):
        ids = numpy.random.default_rng(1).integers(0, 50_000, (ROWS, 33), dtype=numpy.int32)
        ids[[3, 700]] = ids[200]
        numpy.save(file, ids)
        make_dataset(folder, {"path": str(file), "dtype": None, "rows": None, "width": None}, FAMILIES)

    return once(shared / "own", make)


@pytest.fixture(scope="session", params=["byte-level", pytest.param("characters", marks=pytest.mark.end_to_end)])
def corpus(request, tmp_path_factory):
    """Make a corpus of difficult texts, with a tokenizer of each kind."""
    return encoding.make(tmp_path_factory.mktemp(request.param), request.param)
