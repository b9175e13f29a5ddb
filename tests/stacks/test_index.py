"""Releases of a package index, which runs on this machine."""

import pytest

from beyond_ram.stacks import index
from beyond_ram.stacks.locks import StackError
from tests.bisect import served


@pytest.fixture
def address(tmp_path, monkeypatch):
    wheels = [served.wheel(tmp_path, "stairs", version, "") for version in ("1.9", "1.10rc1", "1.10", "1.11")]
    wheels.append(served.wheel(tmp_path, "stairs", "1.12", "", "cp27-cp27m-win32"))
    for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with served.index({"stairs": served.page("stairs", wheels, ["1.10"])}, tmp_path) as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "UV_INDEX"])
def test_configured_index_is_read(address, monkeypatch, variable):
    monkeypatch.setenv(variable, address)
    releases = index.releases("stairs")
    assert [release.text for release in releases] == ["1.9", "1.10rc1", "1.10", "1.11", "1.12"]
    assert [release.text for release in releases if release.yanked] == ["1.10"]
    assert [release.text for release in releases if release.missing] == ["1.12"]
    assert releases[0].date == "2024-01-01"


@pytest.mark.slow
def test_index_from_a_file_of_uv_is_read(address, tmp_path):
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv/uv.toml").write_text(f'[[index]]\nurl = "{address}"\ndefault = true\n')
    assert len(index.releases("stairs")) == 5


@pytest.mark.slow
def test_missing_package_or_index_gets_one_line_without_address(address, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    for url in (address, "http://127.0.0.1:1/simple"):
        monkeypatch.setenv("UV_DEFAULT_INDEX", url)
        with pytest.raises(StackError) as error:
            index.releases("nothing")
        assert "127.0.0.1" not in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
def test_uv_uses_the_index_of_pip(address, monkeypatch):
    import os

    monkeypatch.setenv("PIP_INDEX_URL", address)
    with index.for_uv():
        assert os.environ["UV_DEFAULT_INDEX"] == address
    assert "UV_DEFAULT_INDEX" not in os.environ
