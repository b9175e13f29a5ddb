"""Bytecode of an environment: linked from another environment if the source is the same; none for packages' tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.stacks import bytecode

PYC = "__pycache__/{}.cpython-311.pyc"


@pytest.fixture
def stacks(tmp_path):
    """Create and compile two environments with one package. Files with the same content are hard links."""
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
def test_bytecode_of_another_environment_is_linked(stacks):
    one, two = (stacks / name / "lib" / "python3.11" / "site-packages" / "package" for name in ("one", "two"))
    assert (one / PYC.format("same")).samefile(two / PYC.format("same"))
    assert not (one / PYC.format("other")).samefile(two / PYC.format("other"))
    assert sorted(path.name for path in two.rglob("*.pyc")) == ["other.cpython-311.pyc", "same.cpython-311.pyc"]


def test_linked_bytecode_is_used_with_its_own_source_path(stacks):
    packages = stacks / "two" / "lib" / "python3.11" / "site-packages"
    program = (
        f"import sys; sys.path.insert(0, {str(packages)!r})\n"
        "from package import other, same\n"
        "print(same.x, other.x, same.__loader__.get_code(same.__name__).co_filename)"
    )
    ran = subprocess.run([sys.executable, "-I", "-B", "-v", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["1", "2", str(packages / "package" / "same.py")]
    assert f"matches {packages / 'package' / 'same.py'}" in ran.stderr, "it was compiled again"


@pytest.mark.slow
def test_changed_source_is_compiled_again(stacks):
    """A person who edits a package in a stack must see the edit, also in a linked file."""
    packages = stacks / "two" / "lib" / "python3.11" / "site-packages"
    (packages / "package" / "same.py").write_text("x = 'edited'\n")
    program = f"import sys; sys.path.insert(0, {str(packages)!r})\nfrom package import same; print(same.x)"
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "edited\n"
