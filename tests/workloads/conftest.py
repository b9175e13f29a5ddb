"""What the tests of loading share."""

from pathlib import Path

import numpy
import pytest

from beyond_ram.experiment import tokens

from . import encoding
from .tokens import FAMILIES, ROOT, ROWS, made


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    return made(folder, {"rows": ROWS, "width": 1024, "vocabulary": 32000, "seed": 1}, tokens.loaders(ROOT))


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of one's own file: an odd number of ids, rows that are equal, and no numbers in them."""
    folder = tmp_path_factory.mktemp("own")
    ids = numpy.random.default_rng(1).integers(0, 50_000, (ROWS, 33), dtype=numpy.int32)
    ids[[3, 700]] = ids[200]
    numpy.save(folder / "train.npy", ids)
    return made(folder, {"path": str(folder / "train.npy"), "dtype": None, "rows": None, "width": None}, FAMILIES)


@pytest.fixture(scope="session", params=encoding.SPECS)
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of hard texts, with a tokenizer of each kind."""
    return encoding.make(tmp_path_factory.mktemp(request.param), request.param)
