"""Variants of a stack, with one package in another release, by real resolutions."""

import pytest

from beyond_ram.stacks.differences import pins
from beyond_ram.stacks.scripts import moved
from beyond_ram.stacks.variants import parts_of, reason, releases, vary


def test_name_of_a_variant_is_parsed():
    assert parts_of("tokenizers-alone+huggingface-hub-0.17.3") == ("tokenizers-alone", "huggingface-hub", "0.17.3")
    with pytest.raises(ValueError, match="no variant"):
        parts_of("tokenizers-alone")


def pins_of(lock):
    return pins(lock.read_text())


@pytest.mark.slow
def test_variant_changes_one_package_or_gives_a_reason(root, tmp_path):
    vary("tokenizers-alone+tokenizers-0.20.3", root / "envs", tmp_path / "can.txt")
    base, variant = pins_of(root / "envs" / "tokenizers-alone.txt"), pins_of(tmp_path / "can.txt")
    assert reason(tmp_path / "can.txt") is moved(tmp_path / "can.txt") is None
    assert {name for name in base if base[name] != variant[name]} == {"tokenizers"}
    assert variant["tokenizers"] == "0.20.3"
    vary("tokenizers-alone+tokenizers-99.0", root / "envs", tmp_path / "cannot.txt")
    message = reason(tmp_path / "cannot.txt")
    assert message is not None
    assert "there is no version of tokenizers==99.0" in message
    assert "\n" not in message
    assert pins_of(tmp_path / "cannot.txt") == {}


@pytest.mark.slow
def test_conflicting_packages_move_and_are_listed(root, tmp_path):
    """No datasets before 5 accepts the huggingface_hub of the newest stack."""
    vary("stream-current+datasets-4.8.5", root / "envs", tmp_path / "lock.txt")
    base, variant = pins_of(root / "envs" / "stream-current.txt"), pins_of(tmp_path / "lock.txt")
    assert variant["datasets"] == "4.8.5"
    other = [
        name for name in sorted(base.keys() & variant.keys()) if base[name] != variant[name] and name != "datasets"
    ]
    assert "huggingface-hub" in other
    assert len(other) < 5
    assert moved(tmp_path / "lock.txt") == ", ".join(f"{name} {base[name]} to {variant[name]}" for name in other)


@pytest.mark.slow
def test_releases_are_sorted_oldest_first():
    versions = releases("tokenizers")
    assert versions.index("0.13.3") < versions.index("0.20.3") < versions.index("0.21.0")
    assert not any("rc" in version for version in versions)
    versions = releases("tokenizers", ["1.0.0rc3", "0.20.4rc0"])
    assert versions.count("1.0.0rc3") == 1
    assert (
        versions.index("0.20.3") < versions.index("0.20.4rc0") < versions.index("0.21.0") < versions.index("1.0.0rc3")
    )


@pytest.mark.slow
def test_variant_may_be_a_prerelease(root, tmp_path):
    """Vary a stack of final releases, and one with prereleases."""
    vary("tokenizers-alone+tokenizers-0.20.4rc0", root / "envs", tmp_path / "lock.txt")
    base, variant = pins_of(root / "envs" / "tokenizers-alone.txt"), pins_of(tmp_path / "lock.txt")
    assert reason(tmp_path / "lock.txt") is moved(tmp_path / "lock.txt") is None
    assert {name for name in base if base[name] != variant[name]} == {"tokenizers"}
    (tmp_path / "early.in").write_text("--pre\nclick!=8.0.0,<8.0.1\npackaging==24.0\n")
    (tmp_path / "early.txt").write_text("click==8.0.0rc1\npackaging==24.0\n")
    vary("early+packaging-23.2", tmp_path, tmp_path / "varied.txt")
    assert pins_of(tmp_path / "varied.txt") == {"click": "8.0.0rc1", "packaging": "23.2"}
