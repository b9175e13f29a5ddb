"""A measurement that stops in the phase that its cell names, so that tests can end it there; and its processes."""

import os
import sys
from pathlib import Path

from beyond_ram.experiment import Job
from beyond_ram.watch import procfs

from ..conftest import ROOT
from .conftest import EVENTS

LOCK = ROOT / "envs" / "current.txt"
# Run unmeasured for the caches, measure, check; then ask git for the commit and write the record.
PHASES = ("first", "measured", "check", "record")
# If the file `hang` exists: sleep, with a child in another session, both ignoring SIGTERM; or, if it says `eat`, take
# memory.
_STOP = """
def stop(phase):
    (pathlib.Path.cwd() / f"{phase}.reached").touch()
    if (pathlib.Path.cwd() / "hang").read_text() == "eat":
        held = [b"x" * (10 << 20) for _ in range(100)]
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["setsid", "sleep", "100"])
    time.sleep(100)
"""
_PROGRAM = f"""
import os, pathlib, signal, subprocess, time
{EVENTS}
{_STOP}
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
phase = "check" if "--check" in sys.argv else "first"
phase = "measured" if "BEYOND_RAM_EVENTS" in os.environ else phase
# This fails in a folder that another run used.
(pathlib.Path(given["--work-dir"]) / phase).touch(exist_ok=False)
if phase == given["--case"] and (pathlib.Path.cwd() / "hang").exists():
    stop(phase)
events.emit("work", rows=1)
if phase == "check":
    print('{{"rows": 1}}')
"""
_GIT = f"""#!{sys.executable}
import os, pathlib, signal, subprocess, time
{_STOP}
if (pathlib.Path.cwd() / "hang").exists():
    stop("record")
print("0123456789ab")
"""


def make(folder):
    """Write the program, and the git that `environment` puts first, into a folder."""
    (folder / "program.py").write_text(_PROGRAM)
    (folder / "bin").mkdir()
    (folder / "bin" / "git").write_text(_GIT)
    (folder / "bin" / "git").chmod(0o755)


def environment(folder):
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def cell(phase):
    return f"guarded/stack~current/case~{phase}/cache~warm/rep~1"


def measure(phase):
    """Return the command, which must run in the folder."""
    job = Job(path=cell(phase), workload="soak", program="program.py", arguments=("--case", phase))
    job = job.but(warmed=True, page_cache="kept", checked=True)
    command = ["beyond-ram", "measure", "--runs", "runs", "--work", "private", "--python", sys.executable]
    return [*command, "--lock", str(LOCK), job.model_dump_json(exclude_defaults=True)]


def logs(folder):
    return "".join(f"\n{path.name}: {path.read_text()}" for path in sorted(folder.glob("*.log")))


def living(processes):
    """Return the processes that still run. Their start tells them from others with the same id."""
    return [f"{pid} {procfs.name(pid)}" for pid, began in processes.items() if began_at(pid) == began]


def began_at(pid):
    stat = (procfs.read(pid, "stat") or b"").rpartition(b") ")[2].split()
    return stat[19] if stat and stat[0] not in (b"Z", b"X") else None


def below(pid):
    return {child: began for child in procfs.descendants(pid) if (began := began_at(child))}
