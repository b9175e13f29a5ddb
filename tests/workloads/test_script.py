"""The program that runs any script, by itself and below the watcher."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.watch import watch

PROGRAM = Path(__file__).parents[2] / "scripts/workloads/script.py"


@pytest.fixture
def program(tmp_path):
    """Runs a text as a script; its status, its errors, and where it worked."""

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


def test_it_runs_as_python_runs_it(program):
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
def test_its_end_is_its_own(program, text, status):
    assert program(text)[0].returncode == status


def test_files_beside_it_are_there_and_its_own_stay_in_the_work_folder(program, tmp_path):
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
def test_the_answer_is_what_it_prints_and_writes(program):
    def of(text):
        _, work, command = program(text)
        digest = answer(command)["answer_sha256"]
        subprocess.run(["rm", "-r", work], check=True)
        return digest

    assert of("print(1)") == of("print(1)") != of("print(2)")
    assert of("open('a', 'w').write('x')") != of("open('b', 'w').write('x')")
    assert of("import os; print(os.getcwd())") == of("import os; print(os.getcwd())")
    assert of("print('1.2.3')") == of("import os; print(os.getcwd().replace('/folder', ''))")


@pytest.mark.slow
def test_marks_need_nothing_of_ours(tmp_path):
    script = tmp_path / "marks.py"
    script.write_text(
        "import os\nfd = int(os.environ.get('BEYOND_RAM_FD', 2))\nos.write(fd, b'phase begin\\n')\n"
        "kept = bytearray(b'x' * 30_000_000)\nos.write(fd, b'phase end\\n')\n"
    )
    command = [sys.executable, PROGRAM, "--work-dir", tmp_path / "work", "--script", script, "--arguments", "[]"]
    record = watch([*map(str, command)], tmp_path / "out", interval_ms=5)
    assert record["outcome"] == "completed"
    events = [json.loads(line) for line in (tmp_path / "out/events.jsonl").read_text().splitlines()]
    assert {event["phase"] for event in events if event["event"] == "phase"} == {"begin", "end"}
    (work,) = [event for event in events if event["event"] == "work"]
    # A busy watcher may come to read the tree only after the program has ended.
    assert work.get("tree", {}).get("anon_bytes", 31_000_000) > 30_000_000
