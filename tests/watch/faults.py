"""Make each call of the watcher fail in turn. test_faults.py runs this program in another process.

The modules of `beyond_ram/watch` and the guard are compiled with every call `f(x)` written as `fault(place, f)(x)`. A
first run of a scenario finds the places that it reaches. Then a fork of the loaded process runs it once for each
place, kind of error and way (once, or always from then on). Calls of the watcher's own functions do not fail, only the
calls inside them. Calls that only move data in memory do not fail either (`_PURE`).

    python faults.py FOLDER LANES SCENARIO:STRIDE:FIRST…

It prints a line of JSON per run. Every STRIDE-th point is run, from the FIRST on, in LANES processes.
"""

import ast
import builtins
import contextlib
import errno
import importlib.abc
import importlib.machinery
import importlib.util
import json
import marshal
import os
import select
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "beyond_ram" / "watch"
GUARD = ("procfs", "descriptors", "guard")  # in the order of their imports
_PURE_TYPES = (contextlib.ExitStack, list, dict, set, frozenset, tuple, type({}.items()))
_PURE = {
    *(len, max, min, sum, abs, round, sorted, zip, map, isinstance, getattr, setattr, any, all, range, iter, next),
    *(tuple, list, dict, set, frozenset, bool, type, super, contextlib.suppress, contextlib.ExitStack),
}
ERRORS = {
    "EIO": lambda: OSError(errno.EIO, "injected"),
    "EMFILE": lambda: OSError(errno.EMFILE, "injected"),
    "ENOSPC": lambda: OSError(errno.ENOSPC, "injected"),
    "ValueError": lambda: ValueError("injected"),
    "MemoryError": lambda: MemoryError("injected"),
}
LIMIT_S = 60  # for a command of a second, on a busy machine

# The same text runs in the watcher and, marshalled, in the guard. It keeps its own os.write.
FAULT = """
import builtins, collections, os
_write, _open, _close = os.write, os.open, os.close

class Faults:
    chosen = None
    error = None
    always = False
    fired = 0
    seen = None
    report = None
    pure = frozenset()
    pure_types = ()

    @classmethod
    def fault(cls, place, callee):
        if cls.seen is None and cls.chosen is None:
            return callee
        if cls.seen is not None:
            if place not in cls.seen and not cls.spared(callee):
                cls.seen.add(place)
                cls.say(place)
        elif place == cls.chosen and (cls.always or not cls.fired) and not cls.spared(callee):
            cls.fired += 1
            if cls.fired == 1:
                cls.say("fired")
            raise cls.error()
        return callee

    @classmethod
    def spared(cls, callee):
        if isinstance(callee, type) and issubclass(callee, (BaseException, collections.deque)):
            return True
        module = getattr(callee, "__module__", None) or ""
        if module.startswith("beyond_ram") or module in ("guard", "procfs", "descriptors"):
            return True
        try:
            if callee in cls.pure:
                return True
        except TypeError:
            pass
        return isinstance(getattr(callee, "__self__", None), (*cls.pure_types, collections.deque))

    @classmethod
    def say(cls, text):
        descriptor = _open(cls.report, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _write(descriptor, text.encode() + b"\\n")
        _close(descriptor)

builtins.__fault__ = Faults.fault
"""
exec(FAULT)
Faults = globals()["Faults"]
Faults.pure, Faults.pure_types = frozenset(_PURE), _PURE_TYPES


class _Calls(ast.NodeTransformer):
    def __init__(self, name):
        self.name = name

    def visit_FunctionDef(self, node):
        """Skip functions of the command line's module that run before the command is known."""
        if self.name == "watch" and node.name not in ("run", "_keep_record", "_print_summary"):
            return node
        self.generic_visit(node)
        return node

    def visit_Call(self, node):
        place = f"{self.name}:{node.lineno}:{node.col_offset}:{ast.unparse(node.func)[:60]}"
        self.generic_visit(node)
        wrapped = ast.Call(ast.Name("__fault__", ast.Load()), [ast.Constant(place), node.func], [])
        node.func = ast.copy_location(wrapped, node)
        return node


def compiled(path):
    tree = _Calls(path.stem).visit(ast.parse(path.read_text(encoding="utf-8")))
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        return compiled(Path(self.path))


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname == "beyond_ram.cli.watch":
            file = ROOM.parent / "cli" / "watch.py"
        elif fullname.startswith("beyond_ram.watch.") and "calibration" not in fullname:
            place = ROOM.joinpath(*fullname.split(".")[2:])
            file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        else:
            return None
        folders = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _Loader(fullname, str(file))
        return importlib.util.spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=folders)


GUARD_PROGRAM = """
import marshal, os, sys, types, builtins
codes = marshal.loads(open({path!r}, 'rb').read())
exec(codes[0])
import contextlib, errno
how = eval(os.environ['FAULTS'])
Faults.pure = frozenset(getattr(builtins, name, None) or getattr(contextlib, name) for name in how['pure'])
Faults.pure_types = (list, dict, set, frozenset, tuple, type({{}}.items()))
Faults.report = how['report']
for name, code in zip({names!r}, codes[1:]):
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(code, module.__dict__)
if how['chosen'] is None:
    Faults.seen = set()
else:
    Faults.chosen, Faults.always = how['chosen'], how['always']
    kind, *number = how['error']
    Faults.error = lambda: getattr(builtins, kind)(*number, 'injected')
sys.exit(sys.modules['guard'].main())
"""

# --- scenarios: a command, and its result when unwatched

_SAY = (
    'say() { [ -z "$BEYOND_RAM_EVENTS" ] || echo "{\\"monotonic_s\\": $1, \\"event\\": $2}" >> "$BEYOND_RAM_EVENTS"; } '
    "2> /dev/null; read up rest < /proc/uptime; "
)
PLAIN = (
    _SAY
    + """echo begun; say $up '"phase", "phase": "a"'; sleep 0.03; say $up '"work", "rows": 3'; """
    + """say ${up%.*} '"early"'; sleep 0.03; echo ended; exit 7"""
)
SIGNAL = "trap 'echo caught; exit 9' TERM; echo ready; for n in $(seq 300); do sleep 0.02; done; exit 1"
LIMITED = "echo begun; head -c 60000000 /dev/zero | tail -c 60000000 > /dev/null; sleep 2; exit 4"
TIMED = "echo begun; sleep 20 & wait"
# Script, expected output, expected status. A command that cannot be limited is not run.
SCENARIOS = {
    "plain": (PLAIN, "begun\nended\n", 7),
    "signal": (SIGNAL, "ready\ncaught\n", 9),
    "limited": (LIMITED, "begun\n", 137),
    "timed": (TIMED, "begun\n", 137),
}


def options(scenario):
    return {
        "plain": {"live": True, "interval_ms": 5},
        "signal": {},
        "limited": {"memory_limit_bytes": 20_000_000},
        "timed": {"timeout_s": 1.5},  # on a busy machine a second shell needs more than 0.8 s to start
    }[scenario]


def watched(scenario, out):
    """Run `beyond-ram watch` in this process."""
    import beyond_ram.watch
    from beyond_ram.cli import main
    from beyond_ram.watch import recorder

    if not hasattr(beyond_ram.watch, "as_it_is"):
        beyond_ram.watch.as_it_is = beyond_ram.watch.watch
    more = options(scenario)
    recorder.MAX_LINES = 6

    def with_more(command, out, options):
        return beyond_ram.watch.as_it_is(command, out, replace(options, **more))

    with_more.__module__ = "beyond_ram"
    beyond_ram.watch.watch = with_more
    input_file = out.with_name("input")
    input_file.write_bytes(b"x" * 10_000)
    flags = ["--input", str(input_file)] if scenario == "plain" else []
    return main(["watch", "--out", str(out), *flags, "--", "sh", "-c", SCENARIOS[scenario][0]])


def one(scenario, folder, fault):
    """Run the scenario in a fork with one failing call, and return the result."""
    report, out = folder / "report", folder / "out"
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(scenario, out, report, write, folder, fault)
    os.close(write)
    output, deadline, sent, ended = b"", time.monotonic() + LIMIT_S, False, False
    while time.monotonic() < deadline:
        ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(read, 65536) if ready else b""
        if ready and not data:
            ended = True
            break
        output += data
        if scenario == "signal" and b"ready\n" in output and not sent:
            sent = True
            os.kill(pid, signal.SIGTERM)
    while (wait_result := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.002)
    hung = wait_result == (0, 0)
    if hung:
        os.kill(pid, signal.SIGKILL)
        wait_result = os.waitpid(pid, 0)
    os.close(read)
    lines = report.read_text().splitlines() if report.exists() else []
    status = os.waitstatus_to_exitcode(wait_result[1])
    # A process that still holds the output after the watcher's end is an orphan.
    status = "hung" if hung else status if ended else f"{status}, and an orphan"
    return {"status": status, "output": output.decode(), "report": lines, **_record(folder, out)}


def _child(scenario, out, report, write, folder, fault):
    status = 99
    try:
        os.dup2(write, 1)
        errors = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(errors, 2)
        tempfile.tempdir = str(folder)
        Faults.report = str(report)
        guards = {"report": str(report), "chosen": None, "pure": [f.__name__ for f in _PURE]}
        if fault is None:
            Faults.seen = set()
        else:
            Faults.chosen, Faults.error, Faults.always = fault["place"], ERRORS[fault["error"]], fault["always"]
            error = Faults.error()
            kind = [type(error).__name__, *([error.errno] if isinstance(error, OSError) else [])]
            guards |= {"chosen": fault["place"], "always": fault["always"], "error": kind}
        os.environ["FAULTS"] = repr(guards)
        status = watched(scenario, out)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status & 0xFF)


def _record(folder, out):
    """Return the files of the run, from `out` or the folder where they were kept."""
    stderr = (folder / "stderr").read_text(errors="replace") if (folder / "stderr").exists() else ""
    result = {"said": stderr, "record": None, "events": None, "lines": None}
    for place in [out, *sorted(folder.glob("beyond-ram-kept-*"))]:
        if (place / "run.json").is_file():
            result["record"] = json.loads((place / "run.json").read_text())
        if (place / "events.jsonl").is_file():
            result["events"] = [json.loads(line)["event"] for line in (place / "events.jsonl").read_text().splitlines()]
        if (place / "samples.csv").is_file():
            result["lines"] = len((place / "samples.csv").read_text().splitlines()) - 1
    if out.is_dir():
        result["left"] = [p.name for p in out.iterdir() if p.name not in ("run.json", "events.jsonl", "samples.csv")]
    return result


def judged(scenario, seen, place=None):
    """Check whether the command ended as if unwatched, and whether missing data are reported."""
    _, output, status = SCENARIOS[scenario]
    as_alone = seen["status"] == status and seen["output"] == output
    refused = scenario == "limited" and seen["status"] == 2 and not seen["output"] and "no memory limit" in seen["said"]
    record = seen["record"] or {}
    says = bool(record.get("missing")) or "missing     " in seen["said"]
    whole = (
        bool(record)
        and record["exit_status" if record["signal"] is None else "signal"] is not None
        and bool(record["peak"].get("rss_bytes"))
        and record["cpu_s"] is not None
        and bool(record["provenance"].get("kernel"))
        and (seen["lines"] or 0) > 0
        and seen["lines"] == record["sampler"].get("lines")
    )
    if scenario == "plain":
        names = ["start", "phase", "work", "early", "end"]
        whole = whole and sorted(seen["events"] or []) == sorted(names) and record["work"] == {"rows": 3}
        whole = whole and record.get("page_cache", {}).get("input_resident_after") is not None
    if scenario == "limited" and seen["status"] == 4:  # the kernel kills one process, and the watcher its parent
        as_alone = seen["output"] == output and "memory limit" in seen["said"]
    if place is not None and place.endswith("os.execvpe"):  # the command cannot be started, and the message says so
        refused = seen["status"] == 2 and not seen["output"] and "sh cannot be started: " in seen["said"]
    return {
        "ended_otherwise": not (as_alone or refused),
        "refused": refused,
        "says": says,
        "whole": whole,
        "silent": not (says or whole or refused),
    }


def reached(scenario, folder):
    """Return the places that a scenario reaches if nothing fails."""
    places = set()
    for n in range(3):  # the places differ a little from run to run
        at = folder / f"first-{scenario}-{n}"
        at.mkdir()
        first = one(scenario, at, None)
        verdict = judged(scenario, first)
        assert not verdict["ended_otherwise"], first
        assert verdict["whole"], first
        places |= set(first["report"])
    return sorted(places)


def verdict_on(scenario, place, error, way, folder):
    """Run the scenario with this place failing, and return the verdict."""
    with tempfile.TemporaryDirectory(dir=folder) as at:
        seen = one(scenario, Path(at), {"place": place, "error": error, "always": way == "always"})
    verdict = judged(scenario, seen, place) | {"scenario": scenario, "place": place, "error": error, "way": way}
    verdict["fired"] = "fired" in seen["report"]
    if verdict["ended_otherwise"] or verdict["silent"] or seen.get("left"):
        verdict |= {"status": seen["status"], "output": seen["output"], "said": seen["said"][-3000:]}
        verdict |= {"left": seen.get("left"), "events": seen["events"], "lines": seen["lines"]}
    return verdict


def lane(points, folder, results):
    """Fork a process that runs some points."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        with results.open("w", encoding="utf-8") as file:
            for point in points:
                print(json.dumps(verdict_on(*point, folder)), file=file)
        status = 0
    finally:
        os._exit(status)


def main():
    folder, lanes, scenarios = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    kinds = [tuple(kind.split("-")) for kind in os.environ.get("FAULT_KINDS", "EIO-once EIO-always").split()]
    sys.path.insert(0, str(ROOT))
    sys.meta_path.insert(0, _Finder())
    from beyond_ram.watch import calibration, command, summary  # noqa: F401

    codes = folder / "guard"
    own = [compile(FAULT, "fault", "exec"), *(compiled(ROOM / f"{name}.py") for name in GUARD)]
    codes.write_bytes(marshal.dumps(own))
    command._PROGRAM = GUARD_PROGRAM.format(path=str(codes), names=GUARD)
    points = []
    for scenario, stride, first in (text.split(":") for text in scenarios):
        every = [(scenario, place, *kind) for place in reached(scenario, folder) for kind in kinds]
        points += every[int(first) :: int(stride)]
    if place := os.environ.get("FAULT_PLACE"):
        points = [point for point in points if place in point[1]]
    files = [folder / f"lane-{number}" for number in range(lanes)]
    pids = [lane(points[number::lanes], folder, file) for number, file in enumerate(files)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    print("".join(file.read_text(encoding="utf-8") for file in files), end="")
    return max(map(abs, statuses))


builtins.Faults = Faults
if __name__ == "__main__":
    sys.exit(main())
