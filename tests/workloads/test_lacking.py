"""If a stack lacks an import of a workload, its cells are not applicable. A broken package stays an error."""

import json
import os
import subprocess
import sys

import pytest

from beyond_ram.experiment import WORKLOADS

from .tokens import WORKLOADS as PROGRAMS
from .tokens import read_events

pytestmark = pytest.mark.slow

MANIFEST = json.dumps(
    {"id": "a/b", "config": "default", "split": "train", "rows": 1, "files": [], "source": "webdataset", "samples": 1}
)
LOADS = ("--tokens-dir", ".", "--loader", "memmap_batched")
# Arguments with which each program reaches its imports, and the first package that it lacks if none is installed.
ARGUMENTS = {
    "load": (LOADS, "numpy"),
    "stream": (("--manifest", MANIFEST), "datasets"),
    "tokenize": (("--corpus", "."), "datasets"),
    "soak": (("--corpus", ".", "--num-files=1", "--subject=transformers", "--epochs=1"), "transformers"),
}


def run(folder, program, *words, watched=True):
    """Run a program without installed packages; return status, reasons of `not_applicable` or `gave_up`, stderr."""
    (folder / "manifest.json").write_text('{"files": []}')
    (folder / "tokenizer").mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if watched:
        environment["BEYOND_RAM_EVENTS"] = str(folder / "events.jsonl")
    command = [sys.executable, "-S", str(program), "--work-dir", "work", *words]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    events = read_events(folder / "events.jsonl") if (folder / "events.jsonl").exists() else []
    reasons = [event["reason"] for event in events if event["event"] in ("not_applicable", "gave_up")]
    return done.returncode, reasons, done.stderr


@pytest.mark.parametrize("workload", [name for name in WORKLOADS if name != "script"])  # `script` runs a user's code
def test_every_workload_names_the_package_that_its_stack_lacks(workload, tmp_path):
    words, missing = ARGUMENTS[workload]
    status, reasons, error = run(tmp_path, PROGRAMS / WORKLOADS[workload].PROGRAM, *words)
    assert (status, reasons) == (0, [f"this stack has no {missing}"]), error
    assert "Traceback" not in error


def test_unwatched_program_fails_with_a_traceback(tmp_path):
    """A caller that makes a format with it must see the error."""
    status, reasons, error = run(tmp_path, PROGRAMS / "load.py", *ARGUMENTS["load"][0], watched=False)
    assert (status, reasons) == (1, [])
    assert "ModuleNotFoundError" in error


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import nowhere_to_be_found", "this stack has no nowhere_to_be_found"),
        ("from json import no_such_name", "this release of json has no no_such_name"),
        ("import json.nothing", "this release of json has no json.nothing"),
        ("import pytest.nothing.more", "this release of pytest has no pytest.nothing"),
        ("import library", None),
        ("import broken", None),  # a release whose wheel lost its module: a gate would pass it
        ("raise ImportError('by hand')", None),
    ],
)
def test_only_imports_of_our_programs_are_not_applicable(tmp_path, body, reason):
    """A failed import inside a library is an error of the library or the stack, and not a property of the cell."""
    workloads, elsewhere = tmp_path / "workloads", tmp_path / "site"
    workloads.mkdir()
    elsewhere.mkdir()
    for name in ("events.py", "phases.py"):
        (workloads / name).write_text((PROGRAMS / name).read_text())
    (elsewhere / "library.py").write_text("import nowhere_to_be_found\n")
    (elsewhere / "broken-1.0.dist-info").mkdir()
    (elsewhere / "broken-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    program = workloads / "program.py"
    program.write_text(
        f"import sys\nsys.path.append({str(elsewhere)!r})\nimport events\n\ndef main():\n    import json, pytest\n"
        f"    {body}\n\nevents.run(main)\n"
    )
    environment = {**os.environ, "BEYOND_RAM_EVENTS": str(tmp_path / "events.jsonl")}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    events = tmp_path / "events.jsonl"
    reasons = [json.loads(line).get("reason") for line in events.read_text().splitlines()] if events.exists() else []
    assert reasons == ([reason] if reason else [])
    assert done.returncode == (0 if reason else 1)
