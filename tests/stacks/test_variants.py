"""A stack with one package in another release, by real resolutions."""

import re
from pathlib import Path

import pytest

from beyond_ram.stacks.variants import moved, parts_of, reason, releases, vary


def test_a_variant_is_named_and_read_back() -> None:
    assert parts_of("tokenizers-alone+huggingface-hub-0.17.3") == ("tokenizers-alone", "huggingface-hub", "0.17.3")
    with pytest.raises(ValueError, match="no variant"):
        parts_of("tokenizers-alone")


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"(?m)^([\w.-]+)==([^\s\\;]+)", lock.read_text()))


@pytest.mark.slow
def test_a_variant_differs_in_the_one_package_or_says_why_it_cannot_be(root: Path, tmp_path: Path) -> None:
    vary("tokenizers-alone+tokenizers-0.20.3", root / "envs", tmp_path / "can.txt")
    base, made = pins(root / "envs" / "tokenizers-alone.txt"), pins(tmp_path / "can.txt")
    assert reason(tmp_path / "can.txt") is moved(tmp_path / "can.txt") is None
    assert {name for name in base if base[name] != made[name]} == {"tokenizers"}
    assert made["tokenizers"] == "0.20.3"
    vary("tokenizers-alone+tokenizers-99.0", root / "envs", tmp_path / "cannot.txt")
    why = reason(tmp_path / "cannot.txt")
    assert why is not None
    assert "there is no version of tokenizers==99.0" in why
    assert "\n" not in why
    assert pins(tmp_path / "cannot.txt") == {}


@pytest.mark.slow
def test_what_a_version_cannot_be_installed_beside_moves_and_is_named(root: Path, tmp_path: Path) -> None:
    """The newest stack has a huggingface_hub that no datasets before 5 accepts."""
    vary("stream-current+datasets-4.8.5", root / "envs", tmp_path / "lock.txt")
    base, made = pins(root / "envs" / "stream-current.txt"), pins(tmp_path / "lock.txt")
    assert made["datasets"] == "4.8.5"
    other = [name for name in sorted(base.keys() & made.keys()) if base[name] != made[name] and name != "datasets"]
    assert "huggingface-hub" in other
    assert len(other) < 5
    assert moved(tmp_path / "lock.txt") == ", ".join(f"{name} {base[name]} to {made[name]}" for name in other)


@pytest.mark.slow
def test_releases_are_those_of_the_index_oldest_first() -> None:
    versions = releases("tokenizers")
    assert versions.index("0.13.3") < versions.index("0.20.3") < versions.index("0.21.0")
    assert not any("rc" in version for version in versions)
    versions = releases("tokenizers", ["1.0.0rc3", "0.20.4rc0"])
    assert versions.count("1.0.0rc3") == 1
    assert (
        versions.index("0.20.3") < versions.index("0.20.4rc0") < versions.index("0.21.0") < versions.index("1.0.0rc3")
    )


@pytest.mark.slow
def test_a_prerelease_that_is_named_can_be_a_variant(root: Path, tmp_path: Path) -> None:
    """Of a stack whose other packages stay final ones, and of one that takes prereleases."""
    vary("tokenizers-alone+tokenizers-0.20.4rc0", root / "envs", tmp_path / "lock.txt")
    base, made = pins(root / "envs" / "tokenizers-alone.txt"), pins(tmp_path / "lock.txt")
    assert reason(tmp_path / "lock.txt") is moved(tmp_path / "lock.txt") is None
    assert {name for name in base if base[name] != made[name]} == {"tokenizers"}
    (tmp_path / "early.in").write_text("--pre\nclick!=8.0.0,<8.0.1\npackaging==24.0\n")
    (tmp_path / "early.txt").write_text("click==8.0.0rc1\npackaging==24.0\n")
    vary("early+packaging-23.2", tmp_path, tmp_path / "varied.txt")
    assert pins(tmp_path / "varied.txt") == {"click": "8.0.0rc1", "packaging": "23.2"}
