"""The two sides of a base stack, by real resolutions: a wheel in place of a release, all other pins kept."""

from pathlib import Path

import pytest

from beyond_ram.gate.sides import Side, apart, both, made
from beyond_ram.gate.wheels import Requirement, requirement
from beyond_ram.stacks import StackError

from .test_wheels import checkout

__all__ = ["checkout"]


@pytest.fixture
def envs(tmp_path: Path) -> Path:
    """A base stack of two packages."""
    folder = tmp_path / "envs"
    folder.mkdir()
    (folder / "small.in").write_text("dill\nmy-library\n")
    (folder / "small.txt").write_text("dill==0.3.8\nmy-library==1.0\n")
    return folder


@pytest.mark.slow
def test_a_wheel_takes_the_place_of_a_release_and_the_rest_stays(checkout: Path, envs: Path, tmp_path: Path) -> None:
    asked = requirement(str(checkout), tmp_path / "wheels")
    found = both(["small"], {"baseline": [asked], "candidate": [asked]}, tmp_path / "out", envs)
    side = found["small", "candidate"]
    lock = side.lock.read_text()
    assert (side.stack, side.moved) == ("small.candidate", None)
    assert "dill==0.3.8" in lock
    assert f"--hash=sha256:{asked.sha256}" in lock
    assert (
        tmp_path / "out" / "stacks" / "small.candidate" / "lib" / "python3.11" / "site-packages" / "my_library.py"
    ).exists()
    assert apart(found["small", "baseline"], side, [asked]) == ""
    assert sorted(path.name for path in envs.iterdir()) == ["small.in", "small.txt"], "the checkout is as it was"
    with pytest.raises(StackError, match="candidate on small: cannot be installed: "):
        made("small", "candidate", [asked, requirement("dill==99", tmp_path)], tmp_path / "out", envs)


def test_what_differs_beside_what_was_asked_for_is_named(tmp_path: Path) -> None:
    sides = []
    for name, text in (("a", "one==1\ntwo==1\nthree==1\n"), ("b", "one==2\ntwo==2\nfour==1\n")):
        (tmp_path / name).write_text(text)
        sides.append(Side(name, tmp_path / name, "python", None))
    asked = [Requirement("one==2", "one", "one==2")]
    assert apart(*sides, asked) == "four none to 1, three 1 to none, two 1 to 2"
