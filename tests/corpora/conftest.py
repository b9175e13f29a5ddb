"""The corpus programs, run as a user runs them: by the interpreter of the stack `corpora`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..conftest import ROOT, interpreter

PROGRAMS = ROOT / "scripts" / "corpora"
# A run of a program for each spec, by forks of one interpreter that has imported what takes a second.
FORKS = """
import json, os, runpy, sys
import datasets
program, name, runs = json.loads(sys.argv[1])
sys.path.insert(0, os.path.dirname(program))
for spec, out, said in runs:
    child = os.fork()
    if not child:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
        sys.argv = [program, "--name", name, "--spec", spec, "--out", out]
        runpy.run_path(program, run_name="__main__")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="session")
def python() -> Path:
    """The interpreter that prepares corpora."""
    return interpreter("corpora")


@dataclass
class Prepared:
    """A finished corpus."""

    folder: Path
    stderr: str

    @property
    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "manifest.json").read_text(encoding="utf-8")))

    def rows(self) -> list[dict[str, str]]:
        rows = []
        for file in self.manifest["files"]:
            with (self.folder / file["path"]).open(encoding="utf-8") as lines:
                rows += [json.loads(line) for line in lines]
        return rows

    def digests(self) -> list[str]:
        return [file["sha256"] for file in self.manifest["files"]]


class Programs:
    """Runs `scripts/corpora/SOURCE.py` and `tokenizer.py`."""

    folder = PROGRAMS

    def __init__(self, python: Path, work: Path) -> None:
        self.python = python
        self.work = work

    @staticmethod
    def leftovers(out: Path) -> list[str]:
        """Temporary names beside `out`."""
        return [path.name for path in out.parent.glob(f".{out.name}.*")]

    def program(self, spec: dict[str, Any], name: str) -> list[str]:
        """The program of a source, but for where to."""
        program = str(PROGRAMS / f"{spec['source']}.py")
        return [str(self.python), "-B", program, "--name", name, "--spec", str(self.spec_file(spec))]

    def spec_file(self, spec: dict[str, Any]) -> Path:
        """A spec as its rule hands it over, in a file."""
        text = json.dumps(spec)
        path = self.work / f"spec-{zlib.crc32(text.encode())}.json"
        path.write_text(text)
        return path

    @staticmethod
    def made(out: Path, program: list[str]) -> list[str]:
        """A program as its rule runs it: it fills an empty folder, which then takes the place of `out`."""
        return [sys.executable, "-m", "beyond_ram", "make", "--out", str(out), "--", *program]

    def command(self, spec: dict[str, Any], out: Path) -> list[str]:
        return self.made(out, self.program(spec, out.name))

    def run(self, command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HF_HUB_DISABLE_XET": "1", "PYTHONPATH": str(ROOT), **env}
        environment.pop("HF_HUB_OFFLINE", None)
        return subprocess.run(command, capture_output=True, text=True, cwd=self.work, env=environment, check=False)

    def prepare(self, spec: dict[str, Any], name: str = "corpus", **env: str) -> Prepared:
        """A corpus, or a failing test."""
        out = self.work / name
        done = self.run(self.command(spec, out), **env)
        assert done.returncode == 0, done.stderr
        assert not self.leftovers(out), "temporary folders are gone after a good end"
        return Prepared(out, done.stderr)

    def high_water_mark(self, spec: dict[str, Any]) -> int:
        """VmHWM in bytes of preparing a corpus. Not ru_maxrss, which a child inherits."""
        command = [*self.program(spec, "weighed"), "--out", str(self.work / "weighed")]
        code = (
            "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0].rpartition('/')[0])\n"
            "os._exit = sys.exit  # the reading comes between the program and the end\n"
            "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
            "except SystemExit as end: assert end.code == 0\n"
            "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
        )
        done = self.run([*command[:-7], "-c", code, *command[-7:]])
        assert done.returncode == 0, done.stderr
        shutil.rmtree(self.work / "weighed")
        return int(done.stdout) * 1024

    def refused(self, spec: dict[str, Any], name: str = "refused", **env: str) -> str:
        """The one line that a bad spec gets."""
        out = self.work / name
        return self.one_line(self.run(self.command(spec, out), **env), out)

    def each_refused(self, specs: list[dict[str, Any]], **env: str) -> list[str]:
        """The one line that each of some specs of one source gets by its program, which has no folder to take away."""
        paths = [self.work / f"said-{number}" for number in range(len(specs))]
        runs = [(str(self.spec_file(spec)), f"{path}-out", str(path)) for spec, path in zip(specs, paths, strict=True)]
        program = str(PROGRAMS / f"{specs[0]['source']}.py")
        command = [str(self.python), "-B", "-c", FORKS, json.dumps([program, "refused", runs])]
        environment = os.environ | {"HF_HUB_DISABLE_XET": "1"} | {name: str(value) for name, value in env.items()}
        environment.pop("HF_HUB_OFFLINE", None)
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.work, env=environment, check=False)
        assert done.stdout.split() == ["2"] * len(specs), (done.stdout, done.stderr)
        lines = [path.read_text(encoding="utf-8").strip().splitlines() for path in paths]
        assert [len(one) for one in lines] == [1] * len(specs), lines
        return [one for (one,) in lines]

    def tokenizer_command(self, spec: dict[str, Any], corpus: Path, out: Path) -> list[str]:
        program = str(PROGRAMS / "tokenizer.py")
        words = ["--spec", str(self.spec_file(spec)), "--corpus", str(corpus)]
        return self.made(out, [str(self.python), "-B", program, *words])

    def one_line(self, done: subprocess.CompletedProcess[str], out: Path) -> str:
        assert done.returncode == 2, f"status {done.returncode}: {done.stderr}"
        assert not out.exists()
        assert not self.leftovers(out)
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1, done.stderr
        return lines[0]


@pytest.fixture(scope="session")
def programs_in(python: Path) -> Callable[[Path], Programs]:
    """The programs, for any working folder."""
    return lambda work: Programs(python, work)


@pytest.fixture
def programs(python: Path, tmp_path: Path) -> Programs:
    """The programs, in a folder of the test's own."""
    return Programs(python, tmp_path)
