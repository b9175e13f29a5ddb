"""The program that runs any script, alone and below the watcher."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.watch import WatchOptions, watch

PROGRAM = Path(__file__).parents[2] / "scripts/workloads/script.py"


@pytest.fixture
def program(tmp_path):
    """Return a function that runs a script, and gives the process, the work folder and the command."""

    def run(text, *words, flags=(), name="case.py"):
        script = tmp_path / "place" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(text, encoding="utf-8")
        work = tmp_path / "work"
        command = [sys.executable, str(PROGRAM), "--work-dir", str(work), "--script", str(script)]
        command += ["--arguments", json.dumps(words), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False, input="not for it\n")
        return done, work, command

    return run


def answer(command):
    done = subprocess.run([*command, "--check", "--mask=1.2.3"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_script_runs_as_with_python(program):
    done, work, _ = program(
        "import sys, __main__\nprint(__name__, sys.argv[1:], sys.stdin.read(), __main__.__file__ == __file__, 'é')",
        "a", "b c", name="fäll 1.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (work / "stdout").read_text(encoding="utf-8") == "__main__ ['a', 'b c']  True é\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("raise SystemExit(3)", 3),
        ("import sys; sys.exit()", 0),
        ("1/0", 1),
        ("import os; os.abort()", -6),
        ("import os\nif os.fork() == 0: raise SystemExit(0)\nos.wait()", 0),
        ("import concurrent.futures as f\np = f.ThreadPoolExecutor()\np.submit(print, 1)", 0),
    ],
    ids=["exit", "exit 0", "error", "abort", "fork", "threads"],
)
def test_exit_status_is_the_scripts(program, text, status):
    assert program(text)[0].returncode == status


def test_script_reads_files_beside_it_and_writes_into_the_work_folder(program, tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "place/data.txt").write_text("5")
    (tmp_path / "place/helper.py").write_text("X = 7")
    text = "import helper, events\n"
    (tmp_path / "place/events.py").write_text("OWN = 1")
    done, work, command = program(text + "open('made.txt','w').write(open('data.txt').read() * helper.X * events.OWN)")
    assert done.returncode == 0, done.stderr
    assert (work / "folder/made.txt").read_text() == "5555555"
    assert not (tmp_path / "place/made.txt").exists()
    assert answer(command)["files_written"] == 1


@pytest.mark.slow
def test_answer_is_output_and_written_files(program):
    def digest_of(text):
        _, work, command = program(text)
        digest = answer(command)["answer_sha256"]
        subprocess.run(["rm", "-r", work], check=True)
        return digest

    assert digest_of("print(1)") == digest_of("print(1)") != digest_of("print(2)")
    assert digest_of("open('a', 'w').write('x')") != digest_of("open('b', 'w').write('x')")
    assert digest_of("import os; print(os.getcwd())") == digest_of("import os; print(os.getcwd())")
    assert digest_of("print('1.2.3')") == digest_of("import os; print(os.getcwd().replace('/folder', ''))")


@pytest.mark.slow
def test_script_can_mark_phases_without_our_package(tmp_path):
    script = tmp_path / "marks.py"
    script.write_text(
        "import os\nfd = int(os.environ.get('BEYOND_RAM_FD', 2))\nos.write(fd, b'phase begin\\n')\n"
        "kept = bytearray(b'x' * 30_000_000)\nos.write(fd, b'phase end\\n')\n"
    )
    command = [sys.executable, PROGRAM, "--work-dir", tmp_path / "work", "--script", script, "--arguments", "[]"]
    record = watch([*map(str, command)], tmp_path / "out", WatchOptions(interval_ms=5))
    assert record["outcome"] == "completed"
    events = [json.loads(line) for line in (tmp_path / "out/events.jsonl").read_text().splitlines()]
    assert {event["phase"] for event in events if event["event"] == "phase"} == {"begin", "end"}
    (work,) = [event for event in events if event["event"] == "work"]
    # A busy watcher may read the tree only after the program has ended.
    assert work.get("tree", {}).get("anon_bytes", 31_000_000) > 30_000_000
