"""Files for Snakemake's workflow catalogue and for container engines name what exists."""

import re

import yaml

from .conftest import ROOT


def test_readme_of_the_configs_names_each_config():
    named = re.findall(r"^\| \[([\w./]+)\]", (ROOT / "config/README.md").read_text(), re.MULTILINE)
    existing = [path.name + "/" * path.is_dir() for path in (ROOT / "config").iterdir() if path.name != "README.md"]
    assert sorted(named) == sorted(existing)


def test_catalogue_has_flags_and_software():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert {"desc", "flags"} <= {*usage["mandatory-flags"]}
    assert usage["software-stack-deployment"]["conda"] is (ROOT / "envs/driver.yaml").exists()
    assert usage["report"] is usage["software-stack-deployment"]["report"]


def test_image_uses_our_locks_and_python():
    recipe = (ROOT / "Containerfile").read_text()
    assert f"ARG BASE=python:{(ROOT / '.python-version').read_text().strip()}-" in recipe
    (stacks,) = re.findall(r'^ARG STACKS="(.*)"$', recipe, re.MULTILINE)
    files = [*re.findall(r"--requirement (\S+)", recipe), *(f"envs/{stack}.txt" for stack in stacks.split())]
    assert len(files) > 2
    for file in files:
        lock = (ROOT / file).read_text()
        assert "--hash=sha256:" in lock


def test_files_ignored_by_git_are_not_in_the_image():
    left_out = {line.strip("*/") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] != "#"}
    ignored = {line.strip("*/") for line in (ROOT / ".gitignore").read_text().splitlines() if line[:1] != "#"}
    # Not needed in the image, and small.
    assert ignored - left_out <= {".egg-info", "uv.lock"}
