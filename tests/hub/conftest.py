"""A local Hub over the folder `root` of a test."""

import pytest

from beyond_ram.hub import Hub


@pytest.fixture
def hub(root):
    with Hub(root, page_size=2) as running:
        yield running
