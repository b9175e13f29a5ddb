"""A real Slurm for one test session, and the way to run this workflow's Snakemake through it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER = Path(__file__).with_name("cluster")
# The plugin asks Slurm for its jobs ten seconds later each time that none had ended. Here it asks every second.
SNAKEMAKE = """
import asyncio
import sys
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.sleep = lambda self: asyncio.sleep(1)
main(sys.argv[1:])
"""


@dataclass(frozen=True)
class Run:
    """A finished call of Snakemake, with what Slurm itself recorded about its jobs, in the order of submission."""

    output: str
    jobs: list[dict[str, str]]

    def jobs_of(self, rule: str) -> list[dict[str, str]]:
        return [job for job in self.jobs if re.match(rf"rule_{rule}(_wildcards_|$)", job["Comment"])]


@dataclass(frozen=True)
class Slurm:
    """The cluster: `snakemake` runs a workflow on it; `env` and `arguments` are there for a call of one's own."""

    directory: Path

    @property
    def env(self) -> dict[str, str]:
        # The shim of srun first; the driver's commands (uv, beyond-ram) next, whether or not it is activated.
        path = [str(self.directory / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        return {**os.environ, "PATH": os.pathsep.join(path), "SLURM_CONF": str(self.directory / "slurm.conf")}

    @property
    def arguments(self) -> list[str]:
        """The users' profile, and what only this cluster needs: it has no accounting, and nobody else's load."""
        return [
            f"--workflow-profile={REPOSITORY / 'profiles' / 'slurm'}",
            "--slurm-status-command=squeue",
            "--slurm-init-seconds-before-status-checks=1",
            "--latency-wait=10",
        ]

    def call(self, *command: str | Path, timeout: float = 60) -> str:
        done = subprocess.run(command, env=self.env, text=True, capture_output=True, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def snakemake(self, *arguments: str | Path, cwd: Path, timeout: float = 120) -> Run:
        """Runs to success in `cwd`, or fails the test with the whole output and the logs of the jobs."""
        command = [sys.executable, "-c", SNAKEMAKE, *arguments, *self.arguments]
        with tempfile.TemporaryFile("w+") as stream:
            environment = {**self.env, "PYTHONPATH": str(cwd)}  # the project in `cwd`, should it be a copy
            child = subprocess.Popen(command, cwd=cwd, env=environment, stdout=stream, stderr=subprocess.STDOUT)
            try:
                status: int | str = child.wait(timeout)
            except subprocess.TimeoutExpired:
                # Snakemake cancels its jobs when it is asked to end.
                child.terminate()
                child.wait(30)
                status = f"none within {timeout:.0f} s"
            stream.seek(0)
            output = stream.read()
        if status != 0:
            logs = sorted((cwd / ".snakemake" / "slurm_logs").rglob("*.log"))
            output += "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')}" for log in logs)
            pytest.fail(f"Snakemake's exit status: {status}\n{output}")
        return Run(output, self.jobs(output))

    def jobs(self, output: str) -> list[dict[str, str]]:
        """What `scontrol show job` says about the jobs of the run that printed this."""
        name = re.search(r"SLURM run ID: (\S+)", output)
        assert name is not None, output
        found = []
        for line in self.call("scontrol", "show", "job", "--details", "--oneliner").splitlines():
            job = dict(re.findall(r"([\w:]+)=(\S*)", line))
            if job.get("JobName") == name[1]:
                found.append(job)
        return sorted(found, key=lambda job: int(job["JobId"]))

    def listening(self) -> list[str]:
        """address:port of every listening socket of the daemons and of the jobs that run now."""
        return re.findall(r"^listens: (\S+)", self.call(CLUSTER, "status", "--dir", self.directory), re.M)


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        directory = Path(folder)
        try:
            up = subprocess.run([CLUSTER, "up", "--dir", directory], text=True, capture_output=True, timeout=120)
            if up.returncode == 3:
                pytest.skip(up.stderr.strip())
            assert up.returncode == 0, up.stderr
            yield Slurm(directory)
        finally:
            subprocess.run([CLUSTER, "down", "--dir", directory], check=True, timeout=60)
