"""Workload `script`: any Python file, run as by `python FILE ARGUMENTS…`. Standard library only.

Modules beside the file are found after installed packages, so that no folder of a package's name replaces it.
The file runs as `__main__` in the folder `folder` of the work folder, which links to the file's neighbours. Standard
input is empty; standard output goes to the file `stdout` of the work folder. When the interpreter ends, with the file's
globals still alive, the program emits the mark `work`. With --check, it hashes the printed and written output of the
last run instead. Lines that the file writes to the descriptor in BEYOND_RAM_FD are marks.
"""

import atexit
import json
import os
import sys
import time

import events

# The file may have its own module with this name.
del sys.modules["events"], sys.modules["phases"]
MARKS = "BEYOND_RAM_FD"
PRINTED, ERRORS, FOLDER = "stdout", "stderr", "folder"
_BLOCK = 1 << 20


def main(words):
    work, script, arguments, flags = read(words)
    if "--check" in flags:
        return check(work, [flag.partition("=")[2] for flag in flags if flag.startswith("--mask=")])
    return run(enter(work, script, "--apart" in flags), arguments)


def enter(work, script, errors_too):
    """Make the work folder and change into it. Returns the path of the file."""
    os.makedirs(work, exist_ok=True)
    redirect(work, errors_too)
    script = os.path.abspath(script)
    make_folder(os.path.join(work, FOLDER), script)
    os.chdir(os.path.join(work, FOLDER))
    events.emit("provenance", versions={"python": sys.version.split()[0]}, clock_s=time.monotonic())
    open_marks()
    return script


def read(words):
    """The work folder, the file, its arguments, and the flags. An argument parser would count as the script's
    memory."""
    values = {name: words[words.index(name) + 1] for name in ("--work-dir", "--script", "--arguments")}
    inputs = [os.path.abspath(word) if os.path.isdir(word) else word for word in words[: words.index("--work-dir")]]
    flags = [word for word in words if word not in values.values()]
    return values["--work-dir"], values["--script"], inputs + json.loads(values["--arguments"]), flags


def redirect(work, errors_too):
    """Redirect standard input from /dev/null, standard output into the work folder, and with `errors_too` standard
    error."""
    names = [(0, os.devnull, os.O_RDONLY), (1, os.path.join(work, PRINTED), os.O_WRONLY | os.O_CREAT | os.O_APPEND)]
    names += [(2, os.path.join(work, ERRORS), os.O_WRONLY | os.O_CREAT | os.O_APPEND)] if errors_too else []
    for number, path, how in names:
        opened = os.open(path, how, 0o644)
        os.dup2(opened, number)
        os.close(opened)


def make_folder(folder, script):
    """Link to the file's neighbours, so that relative names work."""
    os.makedirs(folder, exist_ok=True)
    beside, own = os.path.dirname(script), os.path.realpath(folder) + os.sep
    for name in os.listdir(beside):
        path, link = os.path.join(beside, name), os.path.join(folder, name)
        if not name.startswith(".") and not own.startswith(os.path.realpath(path) + os.sep):
            os.symlink(path, link)


def open_marks():
    """Open a descriptor for marks of programs that cannot import beyond_ram; a line is a mark."""
    path = os.environ.get(events.VARIABLE)
    if path:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.set_inheritable(descriptor, True)
        os.environ[MARKS] = str(descriptor)


def run(script, arguments):
    """Run the file as `__main__`. `atexit` calls the first registered function last, when all threads have ended."""
    names = as_main(script, arguments)
    finished: list[bool] = []
    process = os.getpid()

    def at_end():
        if finished and os.getpid() == process:
            events.mark("work", rows=None, **events.own_memory())
            events.emit("imports", **imports())

    atexit.register(at_end)
    with open(script, "rb") as file:
        source = file.read()
    try:
        exec(compile(source, script, "exec", dont_inherit=True), names)
    except SystemExit as stopped:
        if not stopped.code:
            finished.append(True)
        raise
    finished.append(True)


def as_main(script, arguments):
    """Make a module `__main__` for the file, with its arguments and import path. Returns the module's names."""
    main_module = type(sys)("__main__")
    main_module.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None, __spec__=None)
    sys.modules["__main__"] = main_module
    sys.argv[:] = [script, *arguments]
    sys.path[:] = [*sys.path[1:], os.path.dirname(script)]
    return main_module.__dict__


def imports():
    """The imported modules of the environment, and the files of those from elsewhere; not the standard library's."""
    inside, outside = [], {}
    for name, module in list(sys.modules.items()):
        file, top = getattr(module, "__file__", None), name.partition(".")[0]
        if top in sys.stdlib_module_names or name == "__main__":
            continue
        if not isinstance(file, str):
            if name == top and not hasattr(module, "__path__"):  # a namespace package has no file
                outside[name] = "no file"
            continue
        if f"{os.sep}site-packages{os.sep}" in file and file.startswith(sys.prefix + os.sep):
            if name == top:
                inside.append(name)
        else:
            outside[name] = file
    return {"modules": inside, "modules_from_elsewhere": outside}


def check(work, masked):
    """Print the SHA-256 and size of the file's printed and written output, as JSON.

    Ignores `masked` versions and the work folder, because a library may print its own version.
    """
    import hashlib
    import re

    words = [os.path.realpath(work), os.path.abspath(work), *masked]
    pattern = re.compile(b"|".join(re.escape(os.fsencode(word)) for word in sorted(words, key=len, reverse=True)))
    digest, files, written = hashlib.sha256(), 0, 0
    printed = os.path.join(work, PRINTED)
    for name, path in [("", printed), *new_files(os.path.join(work, FOLDER))]:
        digest.update(os.fsencode(name) + b"\0")
        for block in blocks(path):
            digest.update(pattern.sub(b"?", block))
        files, written = files + bool(name), written + (os.path.getsize(path) if name else 0)
    answer = {"answer_sha256": digest.hexdigest(), "printed_bytes": os.path.getsize(printed)}
    print(json.dumps({**answer, "files_written": files, "files_bytes": written}))


def new_files(folder):
    """Name and path of the files that a run has written, in order."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if not os.path.islink(path) and os.path.isfile(path):
                yield os.path.relpath(path, folder), path


def blocks(path):
    """Read a file in blocks that end with a line, unless a line is endless, because masking works within a line."""
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            yield block + file.readline(_BLOCK)


if __name__ == "__main__":
    main(sys.argv[1:])
