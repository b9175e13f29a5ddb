"""What no source here may do: unpickle data, unpack archives, run a shell with a user's text, listen to the network."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from beyond_ram.experiment import inputs
from beyond_ram.gate.wheels import requirement
from beyond_ram.stacks.locks import StackError

from ..conftest import ROOT, project_files

PLACES = ("beyond_ram/", "scripts/", "examples/", "cases/workflow/")
SOURCES = [
    name for name in project_files() if (name.endswith(".py") and name.startswith(PLACES)) or name == ".ci/audit"
]


@functools.cache
def parsed(name):
    return list(ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))))


@functools.cache
def calls():
    """Every call: its source, the dotted name of its function, and the call."""
    nodes = ((name, node) for name in SOURCES for node in parsed(name))
    return [(name, ast.unparse(node.func), node) for name, node in nodes if isinstance(node, ast.Call)]


def keyword_value(call, keyword):
    return next((ast.unparse(one.value) for one in call.keywords if one.arg == keyword), None)


def test_the_sources_are_found():
    assert len(SOURCES) > 200
    assert {"beyond_ram/hub/app.py", "scripts/workloads/load.py", "examples/own_loader.py"} <= {*SOURCES}


# Programs that pickle their own object or run the user's script, because they measure that.
ALLOWED = {("scripts/workloads/soak.py", "pickle.loads"), ("scripts/workloads/script.py", "exec"),
           ("scripts/workloads/why.py", "exec")}  # fmt: skip
UNPICKLES = ("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open")
UNPICKLES += ("pandas.read_pickle", "pd.read_pickle", "joblib.load", "dill.load", "dill.loads", "cloudpickle.loads")
UNSAFE = (*UNPICKLES, "yaml.load", "yaml.unsafe_load", "yaml.full_load", "eval", "exec")


@pytest.mark.slow
def test_no_data_is_unpickled_or_run():
    for name, called, call in calls():
        assert called not in UNSAFE or (name, called) in ALLOWED, f"{name}:{call.lineno}"
        if called in ("torch.load",):
            assert keyword_value(call, "weights_only") == "True", f"{name}:{call.lineno}"
        assert keyword_value(call, "allow_pickle") in (None, "False"), f"{name}:{call.lineno}"


UNPACKS = ("extractall", "extract", "unpack_archive", "_extract_member")


@pytest.mark.slow
def test_no_archive_is_unpacked():
    """An archive could write outside of a folder. Only uv and pip install wheels."""
    for name, called, call in calls():
        assert called.rpartition(".")[2] not in UNPACKS, f"{name}:{call.lineno}"


# The scripts that a shell runs: one is constant, every word of the others is quoted.
SHELLS = {"beyond_ram/measure/processes.py", "beyond_ram/measure/cells.py"}


@pytest.mark.slow
def test_no_shell_runs_a_users_text():
    for name, called, call in calls():
        assert called not in ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")
        assert keyword_value(call, "shell") in (None, "False"), f"{name}:{call.lineno}"
        words = [ast.unparse(word) for word in getattr(call.args[0], "elts", ())[:2]] if call.args else []
        if words and words[0].strip("'\"").rpartition("/")[2] in ("sh", "bash", "dash"):
            assert name in SHELLS, f"{name}:{call.lineno}"


def test_scripts_of_the_shells_are_constant_or_quoted():
    for name in SHELLS:
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and "exec " in ast.unparse(node):
                inserted = {ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue)}
                assert inserted <= {"describe", "shlex.join(words)", "shlex.quote(str(log))"}, name
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "describe":
                assert isinstance(node.value, ast.Constant)


LISTENS = {"bind", "TCPSite", "make_server", "HTTPServer", "ThreadingHTTPServer", "create_server", "start_server",
           "run_app", "SockSite"}  # fmt: skip
LOOPBACK = {"LOOPBACK", "'127.0.0.1'"}
# A socket of the kernel's, which no other machine can reach.
NETLINK = {"beyond_ram/watch/exits.py"}


@pytest.mark.slow
def test_every_server_listens_on_the_loopback_alone():
    listening = 0
    for name, called, call in calls():
        if called.rpartition(".")[2] in LISTENS and name not in NETLINK:
            listening += 1
            arguments = {ast.unparse(node) for argument in call.args for node in ast.walk(argument)}
            assert arguments & LOOPBACK, f"{name}:{call.lineno}"
    for name in SOURCES:
        for node in parsed(name):
            assert not (isinstance(node, ast.Constant) and node.value in ("0.0.0.0", "::")), f"{name}:{node.lineno}"
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("LOOPBACK"):
                assert "'127.0.0.1'" in ast.unparse(node.value), name
    assert listening >= 4


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("how", ["an array of objects", "a pickle", "an archive"])
def test_pickle_in_a_token_file_is_not_run(tmp_path, how):
    """Neither by the check of the config nor by the program that reads the rows."""
    import pickle

    path, sprung = tmp_path / "train.npy", tmp_path / "sprung"
    if how == "an array of objects":
        numpy.save(path, numpy.array([[Trap(sprung)] * 2] * 2, dtype=object), allow_pickle=True)
    elif how == "a pickle":
        path.write_bytes(pickle.dumps(Trap(sprung)))
    else:
        with path.open("wb") as file:
            numpy.savez(file, ids=numpy.array([Trap(sprung)], dtype=object))
    array, fault = inputs.npy(str(path))
    assert array is None
    assert fault
    assert "\n" not in fault
    (tmp_path / "spec.json").write_text(json.dumps({"path": str(path), "dtype": None, "width": 2, "rows": None}))
    command = [sys.executable, str(ROOT / "scripts/workloads/make_tokens.py"), "--spec", str(tmp_path / "spec.json")]
    done = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, check=False)
    assert done.returncode != 0
    assert not sprung.exists()
    pickle.loads(pickle.dumps(Trap(sprung)))
    assert sprung.exists(), "the trap works"


@pytest.mark.slow
def test_password_in_an_address_is_not_shown(tmp_path):
    """Neither by us nor in the output of pip."""
    with pytest.raises(StackError) as error:
        requirement("git+file://me:planted-secret@localhost/nothing-here", tmp_path)
    assert "planted-secret" not in str(error.value)
    assert "nothing-here" in str(error.value)
