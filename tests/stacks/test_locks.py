"""Locks hold versions and hashes, but no address. Every stack has three files. The driver's lock matches its pins."""

import importlib.metadata
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from beyond_ram.stacks import locks, torch
from beyond_ram.stacks.differences import canonical, pins

from ..conftest import ROOT, project_files

LOCKS = sorted((ROOT / "envs").glob("*.txt"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_lock_names_no_host_and_no_path_and_has_hashes_and_a_conda_file(lock):
    text = lock.read_text()
    assert not re.search(
        r"https?://|file:|^\s*-|(^|\s)/\w|index-url|find-links", re.sub(r"(?m)^\s+--hash=sha256:[0-9a-f]{64}", "", text)
    )
    assert pins(text)
    for block in re.split(r"(?m)^(?=[a-z])", text):
        if "==" in block and not block.startswith("torch=="):  # torch's build depends on the machine
            assert "--hash=sha256:" in block, block
    assert f"-r {lock.name}" in lock.with_suffix(".yaml").read_text()
    assert lock.stem == "driver" or lock.with_suffix(".in").exists()


def test_june_2023_has_the_versions_of_the_first_report():
    wanted = {
        "datasets": "2.13.1", "tokenizers": "0.13.3", "transformers": "4.30.2", "numpy": "1.25.1", "pandas": "2.0.3",
        "fsspec": "2023.6.0", "huggingface-hub": "0.16.4", "dill": "0.3.6", "multiprocess": "0.70.14",
    }  # fmt: skip
    locked = pins((ROOT / "envs/june-2023.txt").read_text())
    assert wanted.items() <= locked.items()
    assert locked["pyarrow"].startswith("12.")


@pytest.mark.slow
def test_driver_lock_matches_pyproject(tmp_path):
    """Start from the lock's versions, so that a changed pin fails the test and a new release does not."""
    resolved = Path(shutil.copy(ROOT / "envs/driver.txt", tmp_path))
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version=3.11"]
    subprocess.run([*command, "--group=pins", f"--output-file={resolved}"], cwd=ROOT, check=True)
    assert pins(resolved.read_text()) == pins((ROOT / "envs/driver.txt").read_text())


def test_a_clone_has_the_direct_dependencies_of_the_driver_lock():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    direct = {canonical(Requirement(line).name) for extra in ("workflow", "cluster") for line in extras[extra]}
    clone = pins("\n".join(project["dependency-groups"]["pins"]))
    assert direct == clone.keys()
    assert clone.items() <= pins((ROOT / "envs/driver.txt").read_text()).items()
    assert not any("==" in line for extra in extras.values() for line in extra), "ranges, beside a user's packages"


def test_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    lines = [line for lines in (*extras.values(), *groups.values()) for line in lines if isinstance(line, str)]
    declared = {canonical(Requirement(line).name) for line in lines}
    packages = importlib.metadata.packages_distributions()
    for name in project_files():
        if name.endswith((".py", ".smk")) and not name.startswith(
            ("cases/", "scripts/", "beyond_ram/tokenize/engine/")
        ):
            text = (ROOT / name).read_text(encoding="utf-8")
            for module in re.findall(r"^ *(?:from|import) ([A-Za-z_]\w*)", text, re.MULTILINE):
                distributions = {canonical(one) for one in packages.get(module, [])} - {"beyond-ram"}
                assert not distributions or distributions & declared, f"{name} imports {module}"


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


def test_torch_is_locked_without_hash_and_installed_separately():
    lock = torch.left_bare(RESOLVED)
    assert pins(lock) == {"numpy": "2.4.6", "torch": "2.13.0", "zarr": "3.1.6"}
    hashed, bare = torch.split(lock)
    assert bare == "torch==2.13.0"
    assert pins(hashed) == {"numpy": "2.4.6", "zarr": "3.1.6"}
    assert torch.left_bare(hashed) == hashed
    assert torch.split(hashed) == (hashed, None)


def test_torch_is_looked_for_where_pip_looks_first(monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels more")
    assert next(torch.sources()) == ["--find-links=wheels", "--find-links=more"]
    assert list(torch.sources())[-1] == []


def listing(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Old, so that no new release changes it: 8.0.0rc1 is the newest that matches, 7.1.2 the newest final one.
BOUND = "click!=8.0.0,<8.0.1"


def locked(envs, name):
    return pins((envs / f"{name}.txt").read_text())


@pytest.mark.slow
def test_requested_prereleases_are_kept_by_upgrades(envs):
    locks.add("final", [BOUND], envs)
    locks.add("next", [BOUND], envs, prereleases=True)
    assert locked(envs, "final") == {"click": "7.1.2"}
    assert locked(envs, "next") == {"click": "8.0.0rc1"}
    assert (envs / "next.in").read_text() == f"--pre\n{BOUND}\n"
    assert "--pre" not in (envs / "next.txt").read_text()
    assert not locks.upgrade("next", [], envs)
    assert locked(envs, "next") == {"click": "8.0.0rc1"}


def test_lock_is_found_by_the_name_of_its_stack(envs, tmp_path):
    varied = tmp_path / "varied"
    varied.mkdir()
    (varied / "mine+click-8.0.0.txt").touch()
    paths = [locks.lock_of(name, envs, varied) for name in ("mine", "mine+click-8.0.0")]
    assert paths == [envs / "mine.txt", varied / "mine+click-8.0.0.txt"]
    with pytest.raises(locks.StackError, match=r"mine\+click-9\.txt: .*'mine\+click-8\.0\.0'"):
        locks.lock_of("mine+click-9", envs, varied)
