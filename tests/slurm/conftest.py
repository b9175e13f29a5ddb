"""A real Slurm for one test session, and Snakemake calls that use it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER = Path(__file__).with_name("cluster")
# The plugin waits ten seconds longer after each poll in which no job ended. Here it polls every second.
SNAKEMAKE = """
import asyncio
import sys
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.sleep = lambda self: asyncio.sleep(1)
main(sys.argv[1:])
"""


def until(true, what, seconds=240):
    """Wait until a function returns something true, and return that. `what` names it, also as a function."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what() if callable(what) else what}"
        time.sleep(0.1)
    return value


@dataclass(frozen=True)
class Run:
    """A finished call of Snakemake, with Slurm's descriptions of its jobs in the order of submission."""

    output: str
    jobs: list[dict[str, str]]

    def jobs_of(self, rule):
        return [job for job in self.jobs if re.match(rf"rule_{rule}(_wildcards_|$)", job["Comment"])]


@dataclass(frozen=True)
class Slurm:
    """The cluster. `snakemake` runs a workflow on it; `env` and `arguments` are for other calls."""

    directory: Path
    accounting: bool = False
    """Whether `sacct` answers."""

    @property
    def env(self):
        # The shim of srun first; the driver's commands (uv, beyond-ram) next, whether or not it is activated.
        path = [str(self.directory / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        return {**os.environ, "PATH": os.pathsep.join(path), "SLURM_CONF": str(self.directory / "slurm.conf")}

    @property
    def arguments(self):
        """Return the users' profile, and shorter waits, because this cluster has no other users."""
        return [
            f"--workflow-profile={REPOSITORY / 'profiles' / 'slurm'}",
            "--slurm-init-seconds-before-status-checks=1",
            "--latency-wait=10",
        ]

    def call(self, *command, timeout=60):
        done = subprocess.run(command, env=self.env, text=True, capture_output=True, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def cluster(self, *command):
        """Stop a node, or start it again."""
        self.call(CLUSTER, *command, "--dir", self.directory)

    def state(self, job):
        """Return the state of a job."""
        return re.search(r"JobState=(\w+)", self.call("scontrol", "show", "job", job))[1]

    def running_on(self, node):
        """Return the jobs that run on a node."""
        return self.call("squeue", "-h", "-t", "R", "-w", node, "-o", "%i").strip()

    def nodes(self):
        """Return the state of each node."""
        return dict(line.split() for line in self.call("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def snakemake(self, *arguments, cwd, timeout=300, status="squeue", meanwhile=lambda: None):
        """Run Snakemake in `cwd`. A failure fails the test, with the whole output and the logs of the jobs.

        `status` is the command that reads the states of jobs; `meanwhile` is called while Snakemake runs.
        """
        command = [sys.executable, "-c", SNAKEMAKE, *arguments, *self.arguments, f"--slurm-status-command={status}"]
        return self.run(command, cwd, timeout, meanwhile)

    def run(self, command, cwd, timeout, meanwhile=lambda: None):
        with tempfile.TemporaryFile("w+") as stream:
            environment = {**self.env, "PYTHONPATH": str(cwd)}  # if `cwd` is a copy of the project
            child = subprocess.Popen(command, cwd=cwd, env=environment, stdout=stream, stderr=subprocess.STDOUT)
            status: int | str
            try:
                meanwhile()
                status = child.wait(timeout)
            except (subprocess.TimeoutExpired, AssertionError) as error:
                # Snakemake cancels its jobs when it is asked to end.
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(30)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
                status = f"none within {timeout:.0f} s: {error}"
            stream.seek(0)
            output = stream.read()
        if status != 0:
            logs = sorted((cwd / ".snakemake" / "slurm_logs").rglob("*.log"))
            output += "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')}" for log in logs)
            pytest.fail(f"Snakemake's exit status: {status}\n{output}")
        # The log has what the terminal lacks. Names of logs begin with the time.
        log = max((cwd / ".snakemake" / "log").iterdir()).read_text()
        return Run(output, self.jobs(log))

    def jobs(self, log):
        """Return the output of `scontrol show job` for the jobs of the run with this log."""
        name = re.search(r"SLURM run ID: (\S+)", log)
        if name is None:  # another executor
            return []
        matching = []
        for line in self.call("scontrol", "show", "job", "--details", "--oneliner").splitlines():
            job = dict(re.findall(r"([\w:]+)=(\S*)", line))
            if job.get("JobName") == name[1]:
                matching.append(job)
        return sorted(matching, key=lambda job: int(job["JobId"]))

    def listening(self):
        """Return address:port of every listening socket of the daemons and running jobs."""
        # The exit status is 1 while a node does not answer, as on a busy machine.
        done = subprocess.run(
            [CLUSTER, "status", "--dir", self.directory], env=self.env, capture_output=True, text=True
        )
        return re.findall(r"^listens: (\S+)", done.stdout, re.M)


@pytest.fixture(scope="session")
def slurm(request):
    """Start two nodes, and accounting if a test needs it and its programs are installed."""
    needs_accounting = any("accounted" in getattr(item, "fixturenames", ()) for item in request.session.items)
    accounting = needs_accounting and all(
        shutil.which(name, path="/usr/sbin:/usr/bin") for name in ("slurmdbd", "mariadbd")
    )
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        directory = Path(folder)
        try:
            command = [CLUSTER, "up", "--dir", directory, "--nodes", "2", *(["--accounting"] if accounting else [])]
            up = subprocess.run(command, text=True, capture_output=True, timeout=120)
            if up.returncode == 3:
                pytest.skip(up.stderr.strip())
            assert up.returncode == 0, up.stderr
            yield Slurm(directory, accounting)
        finally:
            subprocess.run([CLUSTER, "down", "--dir", directory], check=True, timeout=60)


@pytest.fixture(scope="module")
def one_node(slurm):
    """Drain the second node, so that jobs share the first or wait for it."""
    slurm.call("scontrol", "update", "NodeName=node2", "State=DRAIN", "Reason=test")
    yield slurm
    slurm.call("scontrol", "update", "NodeName=node2", "State=RESUME")


@pytest.fixture(scope="module")
def accounted(slurm):
    if not slurm.accounting:
        pytest.skip("apt-get install -y --no-install-recommends slurmdbd mariadb-server-core")
    return slurm
