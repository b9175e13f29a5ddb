"""The corpus programs, run by the interpreter of the stack `corpora`, as users run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..conftest import ROOT, forking, interpreter

PROGRAMS = ROOT / "scripts" / "corpora"
# Slow imports of the programs.
MODULES = ("pyarrow.csv", "pyarrow.parquet", "tokenizers")


@pytest.fixture(scope="session")
def python():
    """Return the interpreter that prepares corpora."""
    return interpreter("corpora")


@dataclass
class Prepared:
    """A finished corpus."""

    folder: Path
    stderr: str

    @property
    def manifest(self):
        return dict(json.loads((self.folder / "manifest.json").read_text(encoding="utf-8")))

    def rows(self):
        rows = []
        for file in self.manifest["files"]:
            with (self.folder / file["path"]).open(encoding="utf-8") as lines:
                rows += [json.loads(line) for line in lines]
        return rows

    def digests(self):
        return [file["sha256"] for file in self.manifest["files"]]


class Programs:
    """Runs `scripts/corpora/SOURCE.py` and `tokenizer.py`."""

    folder = PROGRAMS

    def __init__(self, python, work, stack=None):
        self.python, self.work, self.stack = python, work, stack
        self._refused = 0

    @staticmethod
    def leftovers(out):
        """Return temporary names beside `out`."""
        return [path.name for path in out.parent.glob(f".{out.name}.*")]

    def program(self, spec, name):
        """Return the command of a source's program, without its output folder."""
        program = str(PROGRAMS / f"{spec['source']}.py")
        return [str(self.python), "-B", program, "--name", name, "--spec", str(self.spec_file(spec))]

    def spec_file(self, spec):
        """Write a spec into a file, as its rule does."""
        text = json.dumps(spec)
        path = self.work / f"spec-{zlib.crc32(text.encode())}.json"
        path.write_text(text)
        return path

    def command(self, spec, out):
        """Return the command by which a rule runs a program: it fills an empty folder, which then replaces `out`."""
        return [sys.executable, "-m", "beyond_ram", "make", "--out", str(out), "--", *self.program(spec, out.name)]

    def run(self, command, **env):
        environment = {**os.environ, "HF_HUB_DISABLE_XET": "1", "PYTHONPATH": str(ROOT), **env}
        environment.pop("HF_HUB_OFFLINE", None)
        return subprocess.run(command, capture_output=True, text=True, cwd=self.work, env=environment, check=False)

    def by_rule(self, spec, name="corpus"):
        """Make a corpus as its rule does, or fail the test."""
        out = self.work / name
        done = self.run(self.command(spec, out))
        assert done.returncode == 0, done.stderr
        assert not self.leftovers(out), "temporary folders are left"
        return Prepared(out, done.stderr)

    def forked(self, program, *words, **env):
        """Run a program alone, as a fork of an interpreter that has imported its libraries."""
        environment = {**os.environ, "HF_HUB_DISABLE_XET": "1", **env}
        environment.pop("HF_HUB_OFFLINE", None)
        stack = self.stack or forking(self.python, *MODULES)
        return stack.run(PROGRAMS / program, *words, cwd=self.work, env=environment)

    def prepare(self, spec, name="corpus", **env):
        """Make a corpus with its program alone, or fail the test."""
        out = self.work / name
        words = ("--name", name, "--spec", self.spec_file(spec), "--out", out)
        done = self.forked(f"{spec['source']}.py", *words, **env)
        assert done.returncode == 0, done.stderr
        return Prepared(out, done.stderr)

    def high_water_mark(self, spec):
        """Return VmHWM of preparing a corpus, in bytes. A child would inherit ru_maxrss."""
        command = [*self.program(spec, "measured"), "--out", str(self.work / "measured")]
        code = (
            "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0].rpartition('/')[0])\n"
            "os._exit = sys.exit  # the reading comes between the program and the end\n"
            "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
            "except SystemExit as end: assert end.code == 0\n"
            "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
        )
        done = self.run([*command[:-7], "-c", code, *command[-7:]])
        assert done.returncode == 0, done.stderr
        shutil.rmtree(self.work / "measured")
        return int(done.stdout) * 1024

    def refused(self, spec, **env):
        """Return the one line that a bad spec gets."""
        self._refused += 1
        words = ("--name", "refused", "--spec", self.spec_file(spec), "--out", self.work / f"refused-{self._refused}")
        done = self.forked(f"{spec['source']}.py", *words, **env)
        (line,) = done.stderr.strip().splitlines()
        assert done.returncode == 2, (done.returncode, line)
        return line

    def tokenizer(self, spec, corpus, out, status=0, **env):
        """Run `tokenizer.py` alone. It has to end with a status."""
        done = self.forked("tokenizer.py", "--spec", self.spec_file(spec), "--corpus", corpus, "--out", out, **env)
        assert done.returncode == status, done.stderr
        return done

    def one_line(self, done, out):
        assert done.returncode == 2, f"status {done.returncode}: {done.stderr}"
        assert not out.exists()
        assert not self.leftovers(out)
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1, done.stderr
        return lines[0]


@pytest.fixture
def programs(python, tmp_path):
    """Return the programs in the test's folder."""
    return Programs(python, tmp_path)
