"""What holds a script's memory at its end: it runs as in script.py, then what it holds is released, step by step.

The steps: unused memory of allocators, cycles, locals of the function that the script ends with, calls by atexit, names
of the script, locals of an error and of threads, then caches, classes and globals of libraries (`release_steps.py`, by
the places of `holding.py`). The result is `why.json` in the work folder. A run in which this is done is never compared.
Standard library only.
"""

import atexit
import builtins
import collections
import os
import sys
import threading
import traceback
import types

import events
import script
from holding import MODULE_NAMES, HoldingPlace, local, standard
from last_function import END, compiled
from release_steps import FLOOR_BYTES, ReleaseSteps, allocators, libraries, private

RESULT = "why.json"
_OURS = ("events", "holding", "last_function", "release", "release_steps", "script")
_OUR_FILES = {__file__, *(sys.modules[name].__file__ for name in _OURS)}
# The script may have modules of its own with these names.
for _name in _OURS:
    sys.modules.pop(_name, None)


def frames(frame, owner, cells=True):
    """The locals of a frame as places, but those of the standard library's."""
    code = frame.f_code
    if code.co_name == "<module>" or code.co_filename in _OUR_FILES or standard(code.co_filename):
        return []
    skipped = () if cells else (*code.co_cellvars, *code.co_freevars)
    return [local(frame, key, owner) for key in frame.f_locals if key not in skipped]


def threads():
    """The locals of all other threads."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    places = []
    for number, innermost in sys._current_frames().items():
        if number != threading.get_ident():
            for frame, _ in traceback.walk_stack(innermost):
                places += frames(frame, f"thread {names.get(number, number)}")
    return places


def processes():
    """The processes below this one, with the memory that each shares with no other."""
    started = sys.modules.get("multiprocessing.process")
    names = {one.pid: one.name for one in started.active_children()} if started else {}
    parents, commands = {}, {}
    for number in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
                before, _, after = file.read().rpartition(")")
        except OSError:  # it has ended
            continue
        commands[number], parents[number] = before.partition("(")[2], int(after.split()[1])
    below, ours = [], {os.getpid()}
    while more := [number for number, parent in parents.items() if parent in ours and number not in ours]:
        ours |= set(more)
        below += more
    return [{"pid": one, "name": names.get(one, commands[one]), "private_bytes": private(one)} for one in below]


class Imports:
    """By how much memory grew while modules were imported, without those that another import began."""

    def __init__(self):
        self.grown_bytes, self.depth, self.original = 0, 0, builtins.__import__

    def __call__(self, name, *args, **more):
        if self.depth or name in sys.modules:
            return self.original(name, *args, **more)
        self.depth += 1  # reading the memory may import a codec
        before = events.own_memory().get("anon_bytes", 0)
        try:
            return self.original(name, *args, **more)
        finally:
            self.grown_bytes += max(0, events.own_memory().get("anon_bytes", 0) - before)
            self.depth -= 1


class Sites:
    """Where memory was allocated, by memray: `stayed` of what no step gave back, `peak` of the most at a time."""

    def __init__(self, path):
        import memray

        self.memray, self.path = memray, path
        self.tracker = memray.Tracker(path)
        self.tracker.__enter__()

    def read(self):
        self.tracker.__exit__(None, None, None)
        reader = self.memray.FileReader(self.path)
        records = {"stayed": reader.get_leaked_allocation_records(merge_threads=True)}
        records["peak"] = reader.get_high_watermark_allocation_records(merge_threads=True)
        return {name: self.largest(each) for name, each in records.items()}

    def largest(self, records):
        """The call sites of the most memory, but those of imports, innermost call first."""
        sizes: collections.Counter[tuple[str, ...]] = collections.Counter()
        for record in records:
            calls = [call for call in record.stack_trace() if call[1] not in _OUR_FILES]
            if calls and not any(file.startswith("<frozen importlib") for _, file, _ in calls):
                sizes[tuple(f"{function} ({file}:{line})" for function, file, line in calls)] += record.size
        return [{"bytes": size, "calls": calls} for calls, size in sizes.most_common(5) if size >= FLOOR_BYTES]


class ScriptRun:
    """A run of a script, and what is done at its end."""

    def __init__(self, path, sites=None):
        self.sites = sites
        self.ladder, self.process, self.imports = ReleaseSteps(path), os.getpid(), Imports()
        self.status, self.below, self.function = 0, None, ""

    def function_ends(self, name):
        """Called at the end of the function that the script ends with: release its locals, once."""
        if os.getpid() != self.process or self.ladder.end is not None:
            return
        self.function, frame = name, sys._getframe(1)
        kind, _, trace = sys.exc_info()
        failed = kind and trace and trace.tb_frame is frame and not issubclass(kind, SystemExit)
        owner = "the error" if failed else "the function that the script ends with"
        self.below = processes()
        self.ladder.begin()
        self.ladder.together(frames(frame, owner, cells=False), "others")
        self.ladder.write()

    def main(self, path, arguments):
        names = script.as_main(path, arguments)
        builtins.__import__ = self.imports
        setattr(builtins, END, self.function_ends)
        failed = self.execute(path, names)
        if os.getpid() != self.process:  # a fork that came to the end of the script
            sys.stdout.flush()
            os._exit(self.status)
        self.below = self.below or processes()
        builtins.__import__ = self.imports.original
        # As the interpreter does at its end.
        threading._shutdown()  # type: ignore[attr-defined]  # not in the stub
        if self.ladder.end is not None:
            self.ladder.returned(self.function)
        self.ladder.begin()
        self.ladder.step("functions of atexit", "given back when they were called", atexit._run_exitfuncs)
        threading.excepthook = lambda _: None
        sys.unraisablehook = lambda _: None
        self.release(names, failed)

    def execute(self, path, names):
        """Run the script; the error that it ended with, as a list, which is emptied to forget it."""
        with open(path, "rb") as file:
            source = file.read()
        try:
            exec(compiled(source, path), names)
        except SystemExit as stopped:
            if stopped.code is not None and not isinstance(stopped.code, int):
                print(stopped.code, file=sys.stderr)
            self.status = int(stopped.code) if isinstance(stopped.code, int) else int(stopped.code is not None)
        except BaseException as error:
            traceback.print_exc()
            self.status = 1
            return [error]
        return []

    def release(self, names, failed):
        ladder = self.ladder
        error = "".join(traceback.format_exception_only(failed[0])).strip() if failed else None
        ladder.script_ended = True
        own = [key for key in names if key not in MODULE_NAMES and not issubclass(type(names[key]), types.ModuleType)]
        ladder.together(self.aliases(names, own), "others")
        if failed:
            raised = [frame for frame, _ in traceback.walk_tb(failed[0].__traceback__)]
            places = [place for frame in raised for place in frames(frame, "the error")]
            ladder.together(places, "others")
            del raised, places
            ladder.step("the error", "traceback", failed.clear)
        if threading.active_count() > 1:
            ladder.together(threads(), "others")
        about = {"imports_bytes": self.imports.grown_bytes, "processes": self.below, "error": error,
                 "status": self.status, "threads": threading.active_count() - 1}  # fmt: skip
        ladder.write(**about)
        libraries(ladder, self.imports.grown_bytes)
        now = allocators()
        more = {f"{name}_more": now[name] - ladder.heap[name] for name in now if name in ladder.heap}
        ladder.write(**more, sites=self.sites.read() if self.sites else {})

    def aliases(self, names, own):
        """The names of the script as places; those for one object are one place."""
        by_value = collections.defaultdict(list)
        for key in own:
            by_value[id(names[key])].append(key)
        return [
            HoldingPlace(
                " = ".join(keys),
                "name",
                lambda key=keys[0]: names.get(key),
                lambda keys=keys: [names.pop(key, None) for key in keys],
            )
            for keys in by_value.values()
        ]


def main(words):
    work, path, arguments, flags = script.read(words)
    result = os.path.abspath(os.path.join(work, RESULT))
    path = script.enter(work, path, "--apart" in flags)
    run = ScriptRun(result, Sites(f"{result}.memray") if "--memray" in flags else None)
    run.main(path, arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(run.status)  # libraries without their globals are no state to end in


if __name__ == "__main__":
    main(sys.argv[1:])
