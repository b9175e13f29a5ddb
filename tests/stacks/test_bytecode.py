"""Bytecode of an environment: another's where the file is the same, its own where not, none of packages' tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.stacks import bytecode

PYC = "__pycache__/{}.cpython-311.pyc"


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """Two environments with one package, its files hard links, of which the first is compiled."""
    for name in ("one", "two"):
        package = tmp_path / name / "lib" / "python3.11" / "site-packages" / "package"
        (package / "tests").mkdir(parents=True)
        (tmp_path / name / "bin").mkdir()
        (tmp_path / name / "bin" / "python").symlink_to(sys.executable)
    first = tmp_path / "one" / "lib" / "python3.11" / "site-packages" / "package"
    second = package
    for module, text in (("same", "x = 1\n"), ("broken", "x = = 1\n"), ("tests/seen", "x = 1\n")):
        (first / f"{module}.py").write_text(text)
        os.link(first / f"{module}.py", second / f"{module}.py")
    (first / "other.py").write_text("x = 1\n")
    (second / "other.py").write_text("x = 2\n")
    with Path(os.devnull).open() as turn:
        bytecode.compile_all(tmp_path / "one", turn.fileno())
        bytecode.compile_all(tmp_path / "two", turn.fileno())
    return tmp_path


@pytest.mark.slow
def test_what_another_environment_compiled_is_linked(stacks: Path) -> None:
    one, two = (stacks / name / "lib" / "python3.11" / "site-packages" / "package" for name in ("one", "two"))
    assert (one / PYC.format("same")).samefile(two / PYC.format("same"))
    assert not (one / PYC.format("other")).samefile(two / PYC.format("other"))
    assert sorted(path.name for path in two.rglob("*.pyc")) == ["other.cpython-311.pyc", "same.cpython-311.pyc"]


def test_linked_bytecode_is_taken_and_says_where_its_own_source_is(stacks: Path) -> None:
    packages = stacks / "two" / "lib" / "python3.11" / "site-packages"
    program = (
        f"import sys; sys.path.insert(0, {str(packages)!r})\n"
        "from package import other, same\n"
        "print(same.x, other.x, same.__loader__.get_code(same.__name__).co_filename)"
    )
    ran = subprocess.run([sys.executable, "-I", "-B", "-v", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["1", "2", str(packages / "package" / "same.py")]
    assert f"matches {packages / 'package' / 'same.py'}" in ran.stderr, "it is not compiled again"


@pytest.mark.slow
def test_a_changed_source_is_compiled_again(stacks: Path) -> None:
    """Who edits a package in a stack, to look into it, sees the edit: also one that is linked."""
    packages = stacks / "two" / "lib" / "python3.11" / "site-packages"
    (packages / "package" / "same.py").write_text("x = 'edited'\n")
    program = f"import sys; sys.path.insert(0, {str(packages)!r})\nfrom package import same; print(same.x)"
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "edited\n"
