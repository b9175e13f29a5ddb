"""Measure programs, run them again under exactly its request, and find their smallest limits by bisection.

    python requested.py SITUATION FOLDER [NAME…]

It prints a line of JSON per program. It needs root and a writable v1 memory controller. Situations: `root`, whose
command has a group of its own; `user`, an ordinary user without a group; `job` and `job-root`, inside a group with a
limit, as a scheduler makes it, as an ordinary user and as root. Limits are set by the kernel's files: neither the
watcher nor BenchExec takes part in the second run.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import beyond_ram
from beyond_ram.memory_request import request_of
from beyond_ram.watch import calibration
from beyond_ram.watch.calibration import cases

PROGRAMS = Path(__file__).with_name("programs")
ROOT = Path(__file__).parents[2]
MEMORY = Path("/sys/fs/cgroup/memory")
NOBODY = 65534
SITUATIONS = ("root", "user", "job", "job-root")
JOB_LIMIT = 6 << 30
TOLERANCE = float(os.environ.get("TOLERANCE", "1.05"))
"""The bisection ends at this ratio of the smallest sufficient limit to the largest insufficient one."""


@dataclass(frozen=True)
class Program:
    name: str
    command: Sequence[str]
    """{folder} is a folder for its files, on disk."""
    unseen: str | None = None
    """Memory that cannot be read without a group."""
    options: Sequence[str] = ()
    wish: str | None = None
    """Why it needs less under a limit than without one."""


def _calibrated(smaller):
    for case in calibration.CASES:
        if case.not_run() is None:
            arguments = [str(int(case.arguments[0]) // smaller), *case.arguments[1:]]
            command = cases.command(case.program, arguments, Path("{folder}"))
            wish = "a limit that has no room for huge pages gives small ones" if case.program == "huge" else None
            options = ["--follow"] if case.follow else []
            yield Program(f"calibration: {case.name}", command, options=options, wish=wish)


def programs(smaller=1):
    """Return all programs. Each holds a share of its memory, for a slow machine: one in `smaller`."""
    shell = f"head -c {200_000_000 // smaller} /dev/zero | tail -c {150_000_000 // smaller} | wc -c"

    def program(name, file, size, *arguments, **how):
        words = [sys.executable, "-B", str(PROGRAMS / f"{file}.py"), *map(str, [size // smaller, *arguments])]
        return Program(name, words, **how)

    return [
        *_calibrated(smaller),
        program("written to /dev/shm", "devshm", 300),
        program("written to a memfd", "memfd", 300),
        program("10,000 files in tmpfs", "small_files", 200),
        program("a shared segment, 4 workers", "segment", 200, 4),
        program("8 forks sharing 1 GB", "forks", 1000, 8, 0),
        program("8 forks, a tenth copied", "forks", 300, 8, 10),
        program("4 forks, all copied", "forks", 200, 4, 1),
        program("forks of forks", "levels", 300, 3),
        program("40 forks, one after another", "one_after_another", 300, 40, "fork"),
        program("20 other programs from 300 MB", "one_after_another", 300, 20, "exec"),
        program("locked, anonymous", "locked", 200, "anonymous", "{folder}"),
        program("locked, of a file", "locked", 200, "file", "{folder}"),
        program("page tables of a sparse map", "sparse", 64),
        program("heavy page cache", "cached", 1000, 50, "{folder}"),
        program("temporary files on disk", "temporary", 100, 8, 100, "{folder}"),
        program("a file mapped privately", "private_map", 200, "{folder}"),
        program("bursts of 300 MB", "burst", 300, 4),
        program("SQLite in memory", "database", 200, "memory", "{folder}"),
        program("SQLite on disk", "database", 100, "disk", "{folder}"),
        program("a pool of 4 spawned workers", "spawned", 60, 4),
        program("6 forks that peak in turn", "in_turn", 200, 50, 6),
        program("500 threads", "stacks", 500),
        program("full pipes", "pipes", 800, unseen="pipe buffers stand in no file of a process"),
        program("4 forked workers over objects", "objects", 400, 4),
        Program("a shell pipeline", ["sh", "-c", shell]),
        Program("dd with a large block", ["dd", "if=/dev/zero", "of=/dev/null", f"bs={250 // smaller}M", "count=4"]),
        Program("a small command", ["sleep", "0.5"]),
    ]


SUBSET = {
    "root": ["written to /dev/shm"],
    "user": ["written to /dev/shm", "8 forks, a tenth copied"],
    "job": ["locked, of a file"],
    "job-root": ["SQLite on disk"],
}
"""The programs of an ordinary run. All programs take over a quarter of an hour in each situation."""


@contextmanager
def group(path, limit=None):
    """Make a v1 memory group below the root, with a limit on memory, and on memory with swap if the kernel has that."""
    folder = MEMORY / path
    folder.mkdir()
    try:
        if limit is not None:
            for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
                if (folder / name).exists():
                    (folder / name).write_text(str(limit))
        yield folder
    finally:
        for _ in range(50):  # a killed process may still be ending
            with suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


def _hidden(path):
    """Return the outermost folder of a path that other users may not enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 1), None)


def as_user(command, user):
    """Return the command as another user, without capabilities except for locking memory.

    If only root may enter the interpreter's folder, the command gets a mount namespace in which it is accessible.
    """
    if user is None:
        return list(command)
    words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    words += [f"--{name}=-all,+ipc_lock" for name in ("bounding-set", "inh-caps", "ambient-caps")]
    words += command
    prefix = Path(sys.base_prefix)
    hidden = _hidden(prefix / "bin")
    if hidden is None:
        return words
    script = f"""
kept=$(mktemp -d) && mount --make-rprivate / && mount --bind {shlex.quote(str(prefix))} "$kept" || exit 125
mount -t tmpfs -o mode=755 none {shlex.quote(str(hidden))} && mkdir -p {shlex.quote(str(prefix))} || exit 125
mount --bind "$kept" {shlex.quote(str(prefix))} && umount "$kept" && rmdir "$kept" || exit 125
exec "$@"
"""
    return ["unshare", "--mount", "sh", "-c", script, "sh", *words]


def run(command, within, user, timeout_s, *, follow=False):
    """Run a command in a group; return its status (None after the time limit) and output. Processes that outlive it are
    killed, or waited for with `follow`."""

    def join():
        (within / "cgroup.procs").write_text("0")

    environment = {"PATH": os.environ["PATH"], "HOME": "/var/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            as_user(command, user), cwd=ROOT, env=environment, preexec_fn=join, stdout=output, stderr=output,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(timeout_s)
            while follow and (within / "cgroup.procs").read_text():
                time.sleep(0.02)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            for _ in range(20):  # also processes that outlive it
                left = (within / "cgroup.procs").read_text().split() if within != MEMORY else []
                for pid in left or ([str(process.pid)] if process.poll() is None else []):
                    subprocess.run(["kill", "-9", pid], stderr=subprocess.DEVNULL)
                if not left:
                    break
                time.sleep(0.05)
            process.wait()
        output.seek(0)
        return status, output.read()


def _watcher():
    """Return the command `beyond-ram` without an environment variable, which the watched command would inherit."""
    paths = [str(Path(beyond_ram.__file__).parents[1]), *filter(lambda path: path.endswith("site-packages"), sys.path)]
    program = f"import sys; sys.path[:0] = {paths!r}; from beyond_ram.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", program]


def run_once(one, situation, folder):
    """Run a program under the watcher without a limit, and return the record."""
    user = None if "root" in situation else NOBODY
    out = folder / "out"
    out.mkdir()
    for path in (folder, out):
        path.chmod(0o777)
    command = [*_watcher(), "watch", "--out", str(out), *one.options, "--", *_placed(one, folder)]
    if situation == "user":  # in the root group only processes can be read
        status, output = run(command, MEMORY, user, 300)
    else:
        name = f"request-{os.getpid()}"
        limit = JOB_LIMIT if situation.startswith("job") else None
        with group(name, limit), group(f"{name}/step_0") as step:
            status, output = run(command, step, user, 300)
    assert status == 0, output
    return dict(json.loads((out / "run.json").read_text()))


def _placed(one, folder):
    return [word.replace("{folder}", str(folder)) for word in one.command]


def completes(one, limit, folder, user, duration_s):
    """Return whether a program succeeds under this limit, within five times its duration and ten seconds."""
    with group(f"request-{os.getpid()}-limit", limit) as limited:
        status, _ = run(_placed(one, folder), limited, user, 5 * duration_s + 10, follow=bool(one.options))
        kills = dict(line.split() for line in (limited / "memory.oom_control").read_text().splitlines())["oom_kill"]
    return status == 0 and kills == "0"


def smallest(one, asked, kept, folder, user, duration_s):
    """Find the smallest sufficient limit, to TOLERANCE, starting right below the kept memory."""
    enough, killed, limit = asked, 0, round(0.97 * kept)
    while not completes(one, enough, folder, user, duration_s):
        enough, killed = round(enough * 1.3), enough
        limit = round((enough * killed) ** 0.5)
    while enough > TOLERANCE * max(killed, 1 << 20):
        if completes(one, limit, folder, user, duration_s):
            enough = limit
        else:
            killed = limit
        limit = round((enough * killed) ** 0.5) if killed else round(enough * 0.7)
    return enough


def judged(one, situation, folder, smallest_bytes=None):
    """Return the request, whether it was enough, and the smallest limit, which may be known from another situation."""
    record = run_once(one, situation, folder)
    asked = request_of(record)
    user, duration_s = None if "root" in situation else NOBODY, record["duration_s"]
    enough = completes(one, asked.request_bytes, folder, user, duration_s)
    least = smallest_bytes or smallest(one, asked.request_bytes, asked.kept_bytes, folder, user, duration_s)
    return {
        "name": one.name,
        "situation": situation,
        "basis": asked.basis,
        "request_bytes": asked.request_bytes,
        "kept_bytes": asked.kept_bytes,
        "at_least": asked.at_least,
        "completes": enough,
        "smallest_bytes": least,
        "wish": one.wish,
        "ratio": round(asked.request_bytes / least, 3),
        "duty_cycle": record["sampler"]["duty_cycle"],
        "kept": record["peak"]["kept"],
    }


def main():
    situation, at, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    smallest_by_name = json.loads(os.environ.get("SMALLEST", "{}"))
    for one in programs():
        if (not names or one.name in names) and not (situation == "user" and one.unseen):
            with tempfile.TemporaryDirectory(dir=at) as folder:
                print(json.dumps(judged(one, situation, Path(folder), smallest_by_name.get(one.name))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
