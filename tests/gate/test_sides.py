"""The two sides of a base stack, by real resolutions: a wheel replaces a release, and all other pins stay."""

import pytest

from beyond_ram.gate.sides import BuiltSide, both, locked, other_differences
from beyond_ram.gate.wheels import Requirement, requirement
from beyond_ram.stacks.differences import differences, pins
from beyond_ram.stacks.locks import StackError
from tests.bisect import served


@pytest.fixture
def envs(tmp_path):
    """Create a base stack of two packages."""
    folder = tmp_path / "envs"
    folder.mkdir()
    (folder / "small.in").write_text("dill\nmy-library\n")
    (folder / "small.txt").write_text("dill==0.3.8\nmy-library==1.0\n")
    return folder


@pytest.mark.slow
def test_wheel_replaces_a_release_and_other_pins_stay(envs, tmp_path):
    my_library = requirement(str(served.wheel(tmp_path, "my_library", "1.2", "")), tmp_path / "wheels")
    sides = both(["small"], {"baseline": [my_library], "candidate": [my_library]}, tmp_path / "out", envs)
    side = sides["small", "candidate"]
    lock = side.lock.read_text()
    assert (side.stack, side.moved_packages) == ("small.candidate", None)
    assert "dill==0.3.8" in lock
    assert f"--hash=sha256:{my_library.sha256}" in lock
    assert (tmp_path / "out/stacks/small.candidate/lib/python3.11/site-packages/my_library.py").exists()
    assert other_differences(sides["small", "baseline"], side, [my_library]) == ""
    assert sorted(path.name for path in envs.iterdir()) == ["small.in", "small.txt"], "the checkout was changed"
    side.lock.unlink()
    with pytest.raises(StackError, match="candidate on small: cannot be installed: "):
        wanted = {"baseline": [my_library], "candidate": [my_library, requirement("dill==99", tmp_path)]}
        locked("small", "candidate", wanted, tmp_path / "out", envs)


@pytest.mark.slow
def test_candidate_is_resolved_from_the_baselines_lock(root, tmp_path):
    """pyarrow 20 makes datasets and others move. 21 allows newer ones, but they stay, and only pyarrow differs."""
    texts = {"baseline": "pyarrow==20.0.0", "candidate": "pyarrow==21.0.0"}
    requirements = {side: [requirement(text, tmp_path)] for side, text in texts.items()}
    before, after = (locked("current", side, requirements, tmp_path, root / "envs") for side in texts)
    assert "datasets " in (before.moved_packages or "")
    assert after.moved_packages is None
    (difference,) = differences(before.lock.read_text(), after.lock.read_text())
    assert str(difference) == "pyarrow 20.0.0 to 21.0.0"


@pytest.mark.slow
def test_pins_of_only_the_baseline_do_not_change_the_candidate(tmp_path):
    (tmp_path / "small.in").write_text("click\nxxhash\n")
    (tmp_path / "small.txt").write_text("click==8.1.7\nxxhash==3.5.0\n")
    texts = {"baseline": "xxhash==3.4.1", "candidate": "click==8.1.8"}
    requirements = {side: [requirement(text, tmp_path)] for side, text in texts.items()}
    before, after = (locked("small", side, requirements, tmp_path, tmp_path) for side in texts)
    assert pins(before.lock.read_text()) == {"click": "8.1.7", "xxhash": "3.4.1"}
    assert pins(after.lock.read_text()) == {"click": "8.1.8", "xxhash": "3.5.0"}


def test_other_differences_of_the_sides_are_listed(tmp_path):
    sides = []
    for name, text in (("a", "one==1\ntwo==1\nthree==1\n"), ("b", "one==2\ntwo==2\nfour==1\n")):
        (tmp_path / name).write_text(text)
        sides.append(BuiltSide(name, tmp_path / name, "python", None))
    requirements = [Requirement("one==2", "one", "one==2")]
    assert other_differences(*sides, requirements) == "four none to 1, three 1 to none, two 1 to 2"
