"""Which experiments and version ladders of a config are run."""

import pytest

from beyond_ram.experiment import ConfigError, load


def test_only_the_chosen_experiments_run_and_their_ladders(config, root):
    config["only"] = ["growth"]
    checked = load(config, [root / "config.yaml"], root)
    assert list(checked.run()) == ["growth"]
    assert not checked.cells("sharded")
    assert not checked.running_ladders()
    config["only"] = ["alone"]
    assert list(load(config, [root / "config.yaml"], root).running_ladders()) == ["tokenizers"]
    config["only"] = ["grwth"]
    with pytest.raises(ConfigError, match="only: no experiment 'grwth'; did you mean 'growth'"):
        load(config, root=root)
