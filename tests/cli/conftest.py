"""Commands run in the tests' process."""

import functools

import pytest

from beyond_ram.stacks import index


@pytest.fixture(scope="package", autouse=True)
def _pip_is_asked_once():
    """Call pip for its index once, and not in each command: that takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "pip_index", functools.cache(index.pip_index))
        yield
