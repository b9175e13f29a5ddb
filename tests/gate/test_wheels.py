"""Requirements of a gate: releases stay lines, and everything else becomes a wheel with its hash."""

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from beyond_ram.cli import main
from beyond_ram.gate.wheels import requirement
from tests.bisect import served

# A build backend in the checkout itself: pip has nothing to download for it.
BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name, info = "my_library-1.2-py3-none-any.whl", "my_library-1.2.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("my_library.py", "HERE = True")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: my-library\\nVersion: 1.2\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


@pytest.fixture
def checkout(tmp_path):
    """Create a library's checkout that can be built."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    return folder


def wheel_of(requirement):
    """Return the wheel of a requirement, from its line in the lock."""
    return Path(requirement.line.removeprefix("my-library @ file://"))


def test_release_stays_a_line(tmp_path):
    release = requirement("Ruamel.yaml==0.18", tmp_path)
    assert (release.package, release.line, release.sha256) == ("ruamel-yaml", "Ruamel.yaml==0.18", None)
    assert requirement("datasets", tmp_path).package == "datasets"
    assert requirement("datasets[audio]>=4,<5", tmp_path).package == "datasets"


@pytest.mark.parametrize(
    "text", ["datasets >= 4, != 4.1.*", "datasets [audio,vision] ~=4.0", "datasets==4.0; python_version > '3.9'"]
)
def test_versions_extras_and_markers_are_accepted(text, tmp_path):
    assert requirement(text, tmp_path).line == text


def test_wheel_is_copied_and_that_of_an_earlier_call_stays(tmp_path):
    wheel = tmp_path / "my_library-1.2-py3-none-any.whl"
    wheel.write_bytes(b"first")
    first = requirement(str(wheel), tmp_path / "now").copied_to(tmp_path / "baseline")
    assert (first.package, first.version, first.sha256) == ("my-library", "1.2", hashlib.sha256(b"first").hexdigest())
    wheel.write_bytes(b"with other times")
    second = requirement(str(wheel), tmp_path / "now")
    assert wheel_of(second).read_bytes() == b"with other times"
    assert second.copied_to(tmp_path / "baseline") == first
    assert wheel_of(first).read_bytes() == b"first"


@pytest.mark.slow
def test_checkout_and_git_address_are_built(checkout, tmp_path):
    git = ["git", "-C", str(checkout), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    for text in (str(checkout), f"my-library @ git+file://{checkout}"):
        build = requirement(text, tmp_path / "wheels")
        assert (build.package, build.version, build.text) == ("my-library", "1.2", text)
        assert build.sha256 == hashlib.sha256(wheel_of(build).read_bytes()).hexdigest()
        assert "my_library.py" in zipfile.ZipFile(wheel_of(build)).namelist()


@pytest.mark.slow
def test_wheel_of_an_address_is_taken(tmp_path):
    wheel = served.wheel(tmp_path, "stairs", "1.0", "")
    with served.index({}, tmp_path) as address:
        taken = requirement(f"{address.removesuffix('/simple')}/files/{wheel.name}", tmp_path / "wheels")
    assert (taken.package, taken.version) == ("stairs", "1.0")
    assert taken.sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.mark.slow
def test_failed_build_gets_one_line(checkout, tmp_path, capsys):
    (checkout / "backend.py").write_text("def build_wheel(*_):\n    raise SystemExit('no compiler here')\n")
    out = tmp_path / "out"
    assert main(["gate", "--baseline", "datasets==5.2.0", "--candidate", str(checkout), "--out", str(out)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert f"beyond-ram: {checkout}: cannot be built" in lines
