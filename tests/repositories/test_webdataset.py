"""Generated tars: the same bytes every time."""

import json
import subprocess
import sys
import tarfile

import pytest

from ..conftest import ROOT

TARS = {"source": "webdataset", "files": 2, "samples_per_file": 15, "sample_bytes": 20_000, "seed": 1}


def repository(spec, out, python=sys.executable):
    """Make a repository as its rule does, and return its manifest."""
    program = ROOT / "scripts" / "repositories" / f"{spec['source']}.py"
    spec_file = out.with_name(f"{out.name}.json")
    spec_file.parent.mkdir(parents=True, exist_ok=True)
    spec_file.write_text(json.dumps(spec))
    words = [python, str(program), "--name", "mine", "--spec", str(spec_file), "--out", str(out)]
    subprocess.run(words, check=True)
    return dict(json.loads((out / "manifest.json").read_text()))


@pytest.mark.slow
def test_tars_are_the_same_each_time(tmp_path):
    first, second = (repository(TARS, tmp_path / name) for name in "ab")
    assert first == second
    assert (first["samples"], len(first["files"])) == (30, 2)
    for file in first["files"]:
        contents = [(tmp_path / name / "datasets/local/mine" / file["path"]).read_bytes() for name in "ab"]
        assert contents[0] == contents[1]
        assert len(contents[0]) == file["bytes"]
    with tarfile.open(tmp_path / "a" / "datasets/local/mine" / first["files"][1]["path"]) as tar:
        assert tar.getnames()[:2] == ["00000015.json", "00000015.bin"]
