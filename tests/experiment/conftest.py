"""The default config, for a test to change."""

import pytest
import yaml

from ..conftest import ROOT


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "config.yaml").read_text())
