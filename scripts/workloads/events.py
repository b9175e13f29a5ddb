"""The events that a measured program emits while it runs. Standard library only.

A program imports this file and calls `emit`. If the watcher has set BEYOND_RAM_EVENTS, each call appends one JSON line
to that file; otherwise it does nothing. `monotonic_s` is CLOCK_MONOTONIC, which all processes of a machine share, so
the watcher can place every line on its own time axis.
"""

import json
import os
import sys
import time

VARIABLE = "BEYOND_RAM_EVENTS"
# A file beside the events, as long as the part of them that the watcher has read, with the memory after it.
READ = ".read"
POLL_S, LONGEST_S = 0.001, 5.0


def emit(event, **fields):
    """Append one event. A line is a single write, so lines of several processes do not mix. Returns where it ends, in
    bytes.

    If the file cannot be written, as on a full disk, the error goes to standard error and the program continues.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return 0
    line = json.dumps({"monotonic_s": time.monotonic(), "event": event, "pid": os.getpid(), **fields})
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode() + b"\n")
            return os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)
    except OSError as error:
        print(f"the event {event!r} was not recorded: {error}", file=sys.stderr)
        return 0


def mark(event, **fields):
    """Append one event, then pause until the watcher has read the memory. Returns the length of the pause in
    seconds."""
    return hold(emit(event, **fields))


def hold(end):
    """Pause until the watcher has read the events up to this end, and the memory. Returns the length of the pause in
    seconds."""
    path = os.environ.get(VARIABLE)
    if not path:
        return 0.0
    began = time.monotonic()
    try:
        while os.stat(path + READ).st_size < end and time.monotonic() < began + LONGEST_S:  # noqa: PTH116 (as small as can be)
            time.sleep(POLL_S)
    except OSError:  # nobody reads
        return 0.0
    return time.monotonic() - began


def phase(name):
    """Emit the start of a phase, which ends the one before. The watcher writes the name into its samples. Returns as
    `emit`."""
    return emit("phase", phase=name)


def imported(packages, **fields):
    """Emit the end of the imports: the versions of some packages, and the memory before the work."""
    emit("provenance", versions=versions(packages), **fields)
    mark("imported", **own_memory())


def number(label, value, unit, better="neither", exact=False):
    """Report a number of this run; one with a better direction is compared."""
    emit("metric", label=label, value=value, unit=unit, better=better, exact=exact)


def not_applicable(reason):
    """Exit with status 0 because this cell cannot run here; the one-line `reason` goes into the record."""
    emit("not_applicable", reason=reason)
    sys.exit(0)


def lacking(error):
    """The module or name that this stack lacks, from an ImportError raised by a line of a measured program.

    None if a library failed to import its own dependency, or if a package is present but broken.
    """
    import pathlib
    from importlib.metadata import PackageNotFoundError, version

    at = error.__traceback__
    while at.tb_next:
        at = at.tb_next
    ours = pathlib.Path(__file__).resolve().parent
    if ours not in pathlib.Path(at.tb_frame.f_code.co_filename).resolve().parents or not error.name:
        return None
    package = error.name.partition(".")[0]
    if error.msg.startswith("cannot import name "):
        return f"this release of {package} has no {error.msg.split(chr(39))[1]}"
    if package in sys.modules:
        return f"this release of {package} has no {error.name}"
    try:
        version(package)
    except PackageNotFoundError:
        return f"this stack has no {package}"
    return None


def run(program):
    """Call a measured program. Returns what it holds at its end, by name.

    A cell is not applicable if its stack lacks an import of the program.
    """
    try:
        return program() or {}
    except ImportError as error:
        if os.environ.get(VARIABLE) and (reason := lacking(error)):
            not_applicable(reason)
        raise


def own_memory():
    """This process's resident memory by kind, in bytes, from the kernel; empty without /proc."""
    return memory_of("self")


def memory_of(process):
    """The resident memory of another process; empty if it has ended."""
    names = {"RssAnon": "anon_bytes", "RssFile": "file_bytes", "RssShmem": "shmem_bytes", "VmHWM": "hwm_bytes"}
    reading = {}
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                name, _, value = line.partition(":")
                if name in names:
                    reading[names[name]] = int(value.split()[0]) * 1024
    except OSError:
        return {}
    if not reading:
        return {}
    reading["rss_bytes"] = reading["anon_bytes"] + reading["file_bytes"] + reading["shmem_bytes"]
    return reading


def versions(packages):
    """The versions of the installed ones of `packages`, by name, and of the interpreter."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    by_name = {"python": platform.python_version()}
    for package in packages:
        try:
            by_name[package] = version(package)
        except PackageNotFoundError:
            continue
    return by_name
