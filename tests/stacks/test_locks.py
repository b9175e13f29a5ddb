"""Locks hold versions and hashes, no address; every stack has its three files; the driver's lock is its pins."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from beyond_ram import stacks
from beyond_ram.stacks import torch

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "envs").glob("*.txt"))
PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,_-]+\])?==(\S+)", re.MULTILINE)


def pins(text: str) -> dict[str, str]:
    return dict(PIN.findall(text))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_no_host_and_no_path(lock: Path) -> None:
    text = lock.read_text()
    assert not re.search(
        r"https?://|file:|^\s*-|(^|\s)/\w|index-url|find-links", re.sub(r"(?m)^\s+--hash=sha256:[0-9a-f]{64}", "", text)
    )
    assert pins(text)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_pinned_version_has_hashes(lock: Path) -> None:
    for block in re.split(r"(?m)^(?=[a-z])", lock.read_text()):
        if "==" in block and not block.startswith("torch=="):  # torch's build is the machine's choice
            assert "--hash=sha256:" in block, block


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_lock_has_a_conda_face(lock: Path) -> None:
    assert f"-r {lock.name}" in lock.with_suffix(".yaml").read_text()
    assert lock.stem == "driver" or lock.with_suffix(".in").exists()


def test_june_2023_is_what_was_first_asked_about() -> None:
    wanted = {
        "datasets": "2.13.1", "tokenizers": "0.13.3", "transformers": "4.30.2", "numpy": "1.25.1", "pandas": "2.0.3",
        "fsspec": "2023.6.0", "huggingface-hub": "0.16.4", "dill": "0.3.6", "multiprocess": "0.70.14",
    }  # fmt: skip
    locked = pins((ROOT / "envs/june-2023.txt").read_text())
    assert wanted.items() <= locked.items()
    assert locked["pyarrow"].startswith("12.")


def test_the_driver_lock_is_what_pyproject_resolves_to(tmp_path: Path) -> None:
    """Resolved from the lock's own versions on, so that a release of tomorrow is no failure and a changed pin is."""
    resolved = Path(shutil.copy(ROOT / "envs/driver.txt", tmp_path))
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version=3.11"]
    subprocess.run([*command, "pyproject.toml", f"--output-file={resolved}"], cwd=ROOT, check=True)
    assert pins(resolved.read_text()) == pins((ROOT / "envs/driver.txt").read_text())


RESOLVED = """\
numpy==2.4.6 \\
    --hash=sha256:aa
nvidia-cublas==13.1 \\
    --hash=sha256:bb
torch==2.13.0+cpu \\
    --hash=sha256:cc
triton==3.7.1 \\
    --hash=sha256:dd
zarr==3.1.6 \\
    --hash=sha256:ee
"""


def test_torch_is_locked_by_version_alone_and_installed_apart() -> None:
    lock = torch.left_bare(RESOLVED)
    assert pins(lock) == {"numpy": "2.4.6", "torch": "2.13.0", "zarr": "3.1.6"}
    hashed, bare = torch.split(lock)
    assert bare == "torch==2.13.0"
    assert pins(hashed) == {"numpy": "2.4.6", "zarr": "3.1.6"}
    assert torch.left_bare(hashed) == hashed
    assert torch.split(hashed) == (hashed, None)


def test_torch_comes_from_where_pip_would_look_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels more")
    assert next(torch.sources()) == ["--find-links=wheels", "--find-links=more"]
    assert list(torch.sources())[-1] == []


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("driver", "driver.txt exists, and was not made from"),
        ("locks", "is for the locks of varied stacks"),
        ("mine", "renews it"),
        ("../x", "cannot name a stack"),
        ("-x", "cannot name a stack"),
        ("", "cannot name a stack"),
    ],
)
def test_a_taken_name_is_refused_and_nothing_is_written(envs: Path, name: str, told: str) -> None:
    before = listing(envs)
    with pytest.raises(stacks.StackError, match=told):
        stacks.add(name, ["packaging==24.0"], envs)
    assert listing(envs) == before
