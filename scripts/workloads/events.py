"""The events that a measured program emits while it runs. `phases.py` writes them. Standard library only."""

import os
import sys

from phases import VARIABLE, emit, hold, mark, not_applicable, number  # noqa: F401 - for programs


def phase(name):
    """Emit the start of a phase, which ends the one before. The watcher writes the name into its samples. Returns as
    `emit`."""
    return emit("phase", phase=name)


def imported(packages, **fields):
    """Emit the end of the imports: the versions of some packages, and the memory before the work."""
    emit("provenance", versions=versions(packages), **fields)
    mark("imported", **own_memory())


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
