"""Meaningless options and arguments of every command: one clear line, exit status 2, nothing written."""

import contextlib
import json
import os
import re
import shlex
import shutil
import stat
from pathlib import Path

import pytest

from beyond_ram import cli
from beyond_ram.cli import project as projects

from ..conftest import ROOT
from ..records.test_cell_runs import LOCK, run_once


def listing(folder):
    """Everything below a folder, with the size and time of files and where links lead."""
    states = {}
    for place, names, files in os.walk(folder):
        for path in (Path(place, name) for name in (*names, *files)):
            state = path.lstat()
            size_and_time = (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else ()
            states[str(path)] = (state.st_mode, stat.S_ISLNK(state.st_mode) and path.readlink(), *size_and_time)
    return states


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A project with its stacks, and beside it a working folder with faulty files."""
    folder = tmp_path_factory.mktemp("options")
    project, here = folder / "project", folder / "here"
    for name in ("cases", "envs", "config", "scripts"):
        shutil.copytree(ROOT / name, project / name)
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, project / name)
    (project / "envs" / "latin.txt").write_bytes(b"numpy==1.0\n# caf\xe9\n")
    (project / "envs" / "latin.in").write_text("numpy\n")
    (project / "envs" / "conda.yaml").touch()
    run_once(here / "results" / "runs")
    (here / "results" / ".beyond-ram-results").touch()
    run_once(here / "cut" / "runs")
    cut = next((here / "cut").rglob("run.json"))
    cut.write_bytes(cut.read_bytes()[:300])
    other = run_once(here / "moved" / "runs")
    other.rename(other.with_name("rep~2"))
    (here / "foreign").mkdir()
    (here / "foreign" / "precious.txt").write_text("precious")
    (here / "latin.txt").write_bytes(b"numpy==1.0\n# caf\xe9\n")
    (here / "lock.txt").write_bytes(LOCK)
    (here / "latin.yaml").write_bytes(b"# caf\xe9\na: 1\n")
    (here / "circle").symlink_to("circle")
    os.mkfifo(here / "fifo")
    for name, content in FILES.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(content)
    for name in ("tool", "noformat.x"):
        (here / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def before(workspace):
    """The listing that no command may change."""
    return listing(workspace)


@pytest.fixture
def here(workspace, monkeypatch):
    monkeypatch.setattr(projects, "CHECKOUT", workspace / "project")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    with contextlib.chdir(workspace / "here"):
        yield workspace / "here"


ONE = "{workload: load, matrix: {stack: [loaders], tokens: [few], loader: [threads]}}"
EXPERIMENT = "defaults: none\ntokens: {few: {rows: 9}}\nexperiments: {x: " + ONE + "}\n"
# What lies in the folder of someone who mistypes.
FILES = {
    "train.py": "print('hi')\n",
    "run.sh": "true\n",
    "tool": "#!/bin/sh\n",
    "noformat.x": "neither a program nor a script",
    "data/a.jsonl": '{"text": "a"}\n',
    "file": "here",
    "tokenizer.json": "{}",
    "samples/samples.csv": "name,weight\na,1\n",
    "events/events.jsonl": '{"my": "log"}\n',
    "other/run.json": '{"run": 1}\n',
    "bare/run.json": '{"peak": {}}',
    "list.yaml": "- a\n",
    "numbers.yaml": "1: 2\n",
    "open.yaml": "a: [1, 2\nb: 3\n",
    "tag.yaml": "a: !!python/object/apply:os.system ['touch PWNED']\n",
    "nul.yaml": "a: \x00\n",
    "key.yaml": "experimnts: {}\n",
    "empty.yaml": "# nothing\n",
    "deep.yaml": "a: " + "[" * 20_000,
    "anchor.yaml": "a: *b\n",
    "two.yaml": "a: 1\n---\nb: 2\n",
    "twice.yaml": "a: 1\nexperiments: {x: " + ONE + "}\nexperiments: {}\n",
    "none.yaml": "experiments: {}\n",
    "removed.yaml": "defaults: none\nexperiments: {x: null}\n",
    "only.yaml": "only: []\n",
    "grwth.yaml": "only: [grwth]\n",
    "truth.yaml": EXPERIMENT.replace("workload: load", "workload: load, repeats: true"),
    "switch.yaml": EXPERIMENT.replace("loader:", "batch_size: [on], loader:"),
    "long.yaml": EXPERIMENT.replace("{x:", "{" + 300 * "x" + ":"),
    "upper.yaml": EXPERIMENT.replace("{x:", "{Mine:"),
    "stack.yaml": EXPERIMENT.replace("[loaders]", "loaders"),
}
BISECT = "bisect train.py --package idna --good 3.6 --bad 3.7"
FIT = "fit --memory 1G --vary a=1,2 "
TOKENIZE = "tokenize file --tokenizer tokenizer.json --out ids "
MEASURE = "measure --runs runs --work work --python python --lock {lock} "
GATE = "gate --baseline datasets==5.0.0 --candidate datasets==5.2.0 "
JOB = {"path": "growth/stack~current/rep~1", "workload": "tokenize", "program": "x.py"}
# Faults of config files.
NO_CONFIGS = {
    "list": "list.yaml: no config; it has to be a map of keys",
    "numbers": "numbers.yaml: no config; it has to be a map of keys",
    "empty": "empty.yaml: empty; it has to be a map of keys",
    "open": "open.yaml, line 2, column 2: no YAML",
    "tag": "tag.yaml, line 1, column 4: no YAML",
    "latin": "latin.yaml: no YAML",
    "nul": "nul.yaml: no YAML",
    "deep": "deep.yaml: no YAML",
    "anchor": "anchor.yaml, line 1, column 4: no YAML",
    "two": "two.yaml, line 2, column 1: no YAML",
}
NO_REQUIREMENTS = (
    "idna==3 --hash=x", "idna==3 ; python_version > \"3\" --hash=x", "idna==3 # comment", "idna @ checkout", "idna==",
    "idna==3\n--index-url=https://example.com", "--requirement=file:///etc/passwd", "./tool",
)  # fmt: skip
# Arguments, and a pattern of the expected line.
CASES = {
    "": "the following arguments are required: COMMAND",
    "wach -- ls": "no command 'wach'; did you mean 'watch'",
    "watch": "no command",
    "watch --interval-ms 0 -- true": "0: an interval is from 1 to 60000 milliseconds",
    "watch --interval-ms soon -- true": "argument --interval-ms: soon: an interval is",
    "watch --memory-limit 2Q -- true": "'2Q' is no size",
    "watch --memory-limit 2 -- true": "'2': every command needs more than that; say 500M or 2G",
    "watch --memory-limit 0 -- true": "'0': every command needs more than that",
    "watch --max-rss=0.0G -- true": "argument --max-rss",
    "watch --max-rss=-1 -- true": "argument --max-rss",
    "watch --max-rss=2X -- true": "argument --max-rss",
    "watch --max-rss= -- true": "argument --max-rss",
    "watch --reader top -- true": "invalid choice: 'top' .choose from '?procfs",
    f"watch --memory-limit {'9' * 400}T -- true": "argument --memory-limit: .* is more than any machine has",
    "watch --nonsense -- true": "unrecognized arguments: --nonsense|the following",
    "watch train.py": "a script, which needs its interpreter: beyond-ram watch -- python train.py$",
    "watch run.sh": "interpreter: beyond-ram watch -- bash run.sh$",
    "watch 'python train.py'": "'python train.py' is one word: beyond-ram watch -- python train.py$",
    "watch 'cat file | wc'": "is one word: beyond-ram watch -- sh -c 'cat file | wc'$",
    "watch slep 1": "slep: no such command on PATH; did you mean 'sleep'",
    "watch tool": "tool is not on PATH: beyond-ram watch -- ./tool",
    "watch ./noformat.x": "in no format that this machine runs",
    "watch list.yaml": "list.yaml is not executable",
    "watch ./nothing": "./nothing: there is no such file",
    "watch foreign": "foreign is a folder, no command",
    "watch -- ''": "no command",
    "watch sleep 1 --seconds 3": "--seconds 3; a command and its options go behind --",
    "watch --memroy-limit 2G -- true": "did you mean '--memory-limit'",
    "watch --timeout 5 -- true": "unrecognized arguments: --timeout; see beyond-ram watch --help",
    "watch -- no-such-program --token hunter2": "^(?!.*hunter2).*no-such-program",
    "watch --out o curl -u b:hunter2 x": "^(?!.*hunter2)",
    "watch --interval-ms --token=hunter2": "^(?!.*hunter2)",
    "watch --pid me": "'me' is no process id",
    "watch --pid 0": "'0' is no process id",
    "watch --pid 1 -- true": "either a command, or --pid",
    "watch --pid 1 --follow": "--follow is for a command",
    "watch --pid 1 --memory-limit 1G": "--memory-limit is for a command",
    "watch --reset-marks -- true": "--reset-marks goes with --pid",
    "watch --pid 4194303": "there is no such process here",
    "watch --cgroup /nobody": "there is no such group",
    "watch --cgroup ''": "names no group",
    "watch --cgroup .": "names no group",
    "watch --slurm x": "a job's id is a number",
    "watch --slurm 99999999": "it has no group on this node",
    "watch --container no-such-container": "no-such-container",
    "watch --wait nan --slurm 1": "a time to wait is from 0 to 3600 seconds",
    "watch --out train.py -- true": "--out train.py: a file, and has to be a folder",
    "watch --out samples -- true": "samples.csv.* not made by beyond-ram",
    "watch --out events -- true": "events.jsonl.* not made by beyond-ram",
    "watch --out other -- true": "run.json.* not made by beyond-ram",
    "watch --out /proc/token=hunter2 -- true": "^(?!.*hunter2).*/proc/token=",
    "watch --html train.py -- true": "train.py: holds no page",
    "watch --html nothing/run.html -- true": "nothing: there is no such folder",
    "watch --input nothing -- true": "nothing: no such file",
    "watch --input foreign -- true": "foreign",
    "watch --input fifo -- true": "fifo",
    "watch --html - -- true": "--html -: a page goes into a file",
    "watch --self-test --out run": "--self-test goes alone",
    "watch --self-test -- true": "--self-test goes alone",
    "watch --wait 3 -- true": "--wait goes with --slurm",
    "--watch true": "no command '--watch'; did you mean 'watch'",
    "--out x watch true": "a command comes first, and then --out",
    "help": "no command 'help'; see beyond-ram --help",
    "sleep 1": "no command 'sleep'; to measure it: beyond-ram watch -- sleep",
    "train.py": "no command 'train.py'; to measure it: beyond-ram watch -- train.py",
    "show": "required: FOLDER",
    "show nothing": "nothing: no run is in there .*; name the folder of `watch --out`",
    "show bare": "bare/run.json: 'outcome' is missing",
    "atlas compare none.txt newest": "none.txt: .*no file|no file none.txt",
    "atlas compare file newest": "no lock",
    "job --record train.py": "there is none; `beyond-ram watch --out train.py` writes it",
    "job --record bare": "bare/run.json.* or cut",
    "limit -- python train.py": "it takes the file alone: beyond-ram limit train.py",
    "limit train.py --epochs 3": "arguments of the script go into --args",
    "limit train.py --share 90": "'90': a share is from 0 to below 1",
    "limit train.py --out train.py": "train.py is a file, and has to be a folder; name another",
    "limit /dev/stdin": "/dev/stdin can be read once",
    "limit train.py --input none.bin": "no input",
    "why trian.py": "there is no file trian.py; did you mean 'train.py'",
    "why data": "data is a folder, and has to be a Python file",
    "why train.py --with idna==": "'idna==' is no requirement",
    'why train.py --args "it\'s"': "--args cannot be split into words",
    "why train.py --stack nothing": "nothing.txt: no such stack",
    f"{BISECT} --metric memory": "'memory' is no metric",
    f"{BISECT} --metric paek": "did you mean 'peak'",
    f"{BISECT} --budget 0": "'0' is no number of minutes above 0",
    "bisect train.py --package idna": "required: --good, --bad",
    "fit -- train.py": "required: --memory",
    f"{FIT} -- slep {{a}}": "slep: no such command on PATH; did you mean 'sleep'",
    f"{FIT} -- train.py {{a}}": "needs its interpreter: beyond-ram fit … -- python train.py",
    f"{FIT} -- sleep": "the command does not use {a}",
    f"{FIT} --largest 5 -- sleep {{a}}": "--largest",
    "fit --memory 1G --grow a=10..99 --largest 15 -- sleep {a}": "--largest",
    f"{FIT} --vary a=3 -- sleep {{a}}": "a is named twice",
    f"{FIT} -- sleep {{a}} {{b}}": "b",
    f"{FIT} -- ": "program",
    "fit --memory 1G --vary a=1.5 -- sleep {a}": "1.5",
    "fit --memory 1G --grow a=5..5 -- sleep {a}": "a",
    "fit --memory 1G --vary a=1 --grow a=1..5 -- sleep {a}": "a",
    "fit --memory 1G --grow a=1..5 --grow b=1..5 -- sleep {a} {b}": "b",
    "fit --memory 1G -- sleep": "what may vary",
    "fit --memory 1G --vary method=fork,spawn -- sleep {method}": "for words, run fit once with each",
    "fit --memory 1G --vary a -- sleep {a}": "write it as workers=0,2,4",
    "fit --memory 1G --vary a 0,2 -- sleep {a}": "write it as workers=0,2,4",
    "fit --memory 1G --grow a=5 -- sleep {a}": "write it as rows=100k..50M",
    "gate --baseline idna==3.6 --candidate idna==3.7 --script /dev/stdin": "/dev/stdin can be read once",
    "gate --baseline idna==3.6 --candidate ./old --script train.py": "there is no file or folder ./old",
    "init data --stack curent": "did you mean 'current'",
    "init nothing": "there is no folder nothing: `beyond-ram init FOLDER`",
    "init data --stack stores": "--stack stores: it has no datasets",
    "init data --tokenizer ./nothing": "no such folder, and no name on the Hub",
    "init data --out train.py": "train.py is there already; name another with --out",
    "run --configfile twice.yaml": "twice.yaml, line 3, column 1: no YAML: key 'experiments' stands twice",
    "run --configfile none.yaml": "none.yaml, experiments: names none",
    "run --configfile removed.yaml": "removed.yaml, experiments: none is left to run",
    "run --configfile grwth.yaml": "grwth.yaml, only: no experiment 'grwth'; did you mean 'growth'",
    "run --configfile only.yaml": "only.yaml, only: .* at least 1 item",
    "run --configfile truth.yaml": "truth.yaml, experiments.x.repeats: true and false are no numbers",
    "run --configfile switch.yaml": "switch.yaml, experiments.x.matrix.batch_size.0: true and false .* on and off",
    "run --configfile long.yaml": "long.yaml, experiments.xxx.*: .* at most 100 characters",
    "run --configfile upper.yaml": "upper.yaml, experiments.Mine: ",
    "run --configfile stack.yaml": "stack.yaml, experiments.x.matrix.stack: has to be a list, as .'loaders'.",
    "run --configfile": "argument --configfile",
    "run --cores 0": "0 cores",
    "run -c0": "0 cores",
    "run -j 0": "0 cores",
    "run --configfile nothing.yaml": "there is no config file .*/nothing.yaml",
    **{f"run --configfile {name}.yaml": pattern for name, pattern in NO_CONFIGS.items()},
    "compare": "required: BASELINE, CANDIDATE",
    "compare current new": "results: no run of stack 'new' \\(there are: current\\)",
    "compare current new --results nothing": "neither current nor new is a folder, nor is there a folder nothing with",
    "compare ./nodir results": "nodir: no results folder, there is no such folder",
    "compare results ./nodir": "nodir: no results folder, there is no such folder",
    "compare current new --results foreign": "foreign: no results folder",
    "compare current new --results cut": "cut/runs/.*/run.json: no JSON, or cut",
    "compare current new --results moved": "moved/runs/.*/run.json: the record of another cell, by its rep",
    "compare 'a\nb' current": "no run of stack 'a.nb'",
    f"compare current current --results {'n' * 300}": "file name too long|no results folder",
    f"{GATE} --budget 0": "argument --budget",
    "gate --baseline datasets==5": "required: --candidate",
    "gate --baseline 'no requirement' --candidate datasets==5": "'no requirement' is no requirement",
    **{f"gate --candidate datasets==5 '--baseline={text}'": "is no requirement" for text in NO_REQUIREMENTS},
    "gate --baseline none.whl --candidate datasets==5": "there is no wheel none.whl",
    "gate --baseline my.set==5 My_Set==4 --candidate datasets==5": "my-set: asked for twice on one side",
    "gate --baseline no-such-package==1 --candidate no-such-package==2": "no stack of these cells has no-such-package",
    f"{GATE} --cells nothing": "there is no file nothing, and no set of that name",
    f"{GATE} --cells key.yaml": "key.yaml: unknown key 'experimnts'",
    f"{GATE} --script none.py": "there is no file none.py$",
    f"{GATE} --script train.py --cells read": "--script and --cells: give one of them",
    f"{GATE} --script train.py --rare 0.01": "at most 30 show one",
    f"{GATE} --stack current": "--stack is for scripts",
    f"{GATE} --out foreign": "foreign is not empty and was not made by beyond-ram",
    f"{GATE} --out circle": "circle",
    "stack": "required: ACTION",
    "stack ad x y": "'ad'",
    "stack add ../x numpy": "'../x' cannot name a stack",
    "stack add -- -x numpy": "'-x' cannot name a stack",
    "stack add '' numpy": "'' cannot name a stack",
    "stack add driver numpy": "driver.txt exists, and was not made from",
    "stack add locks numpy": "'locks' cannot name a stack",
    "stack add current numpy": "current.in exists",
    "stack add conda numpy": "conda.yaml exists",
    "stack add -- mine --index-url=http://x": "'--index-url=http://x' is no requirement",
    "stack add -- mine '-r /etc/passwd'": "'-r /etc/passwd' is no requirement",
    "stack add -- mine 'numpy --hash=sha256:00'": "is no requirement",
    "stack upgrade nothing": "nothing.txt: no such stack",
    "stack upgrade ../config": "'../config' names no stack",
    "stack upgrade current numpyy": "current.txt has no package 'numpyy'; did you mean 'numpy'",
    "stack upgrade latin": "latin.txt: not UTF-8, at byte 16",
    "stack releases -- --index-url=http://x": "'--index-url=http://x' is no name of a package",
    "stack build nothing.txt folder": "nothing.txt",
    "stack build lock.txt foreign": "foreign is not empty and was not made by beyond-ram",
    "make --out made": "required: PROGRAM",
    "make --out made -- no-such-program-here": "no-such-program-here",
    "make --out foreign -- true": "foreign is not empty and was not made by beyond-ram",
    "make --out . -- true": "holds the working directory|is not empty",
    "tokenize": "required: INPUT, --tokenizer, --out",
    "tokenize file --tokenizer nothing --out ids": "--tokenizer nothing: no tokenizer.json there",
    "tokenize nothing.jsonl --tokenizer tokenizer.json --out ids": "nothing.jsonl: no such file, folder or pattern",
    "tokenize file --tokenizer tokenizer.json --out file": "--out file: has to be a folder",
    "tokenize file --tokenizer tokenizer.json --out s3://u:hunter2@h/t": "^(?!.*hunter2).*--out",
    f"{TOKENIZE} --workers 0": "'0': at least one worker",
    f"{TOKENIZE} --format text": "argument --format: invalid choice: 'text'",
    f"{TOKENIZE} --shard 0/2": "'0/2': it has to be I/N, with I from 1 to N",
    f"{TOKENIZE} --shard ²/³": "it has to be I/N",
    f"{TOKENIZE} --shard \uff11/\uff12": "it has to be I/N",
    f"{TOKENIZE} --workers \uff11": "at least one worker",
    f"{TOKENIZE} --shard 3/2": "it has to be I/N",
    f"{TOKENIZE} --shard 1/100000": "it has to be I/N",
    f"{TOKENIZE} --memory-limit much": "'much' is no size",
    f"{TOKENIZE} --stack nothing": "there is no stack 'nothing'",
    f"{TOKENIZE} --stack ../config": "there is no stack '../config'",
    f"{MEASURE} nothing": "JOB: no job in JSON",
    f"{MEASURE} '{{}}'": "JOB: .*path",
    f"{MEASURE} '{json.dumps(JOB | {'else': 1})}'": "JOB: .*else",
    f"{MEASURE} '{json.dumps(JOB | {'path': '../../x'})}'": "\\.\\./\\.\\./x: not a run's folder",
    f"{MEASURE} '{json.dumps(JOB | {'interval_ms': 'soon'})}'": "JOB: .*interval_ms",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("line", CASES, ids=[line.replace("\n", "␤")[:70] for line in CASES])
def test_meaningless_arguments_get_one_line(here, workspace, before, capfd, line):
    try:
        status = cli.main(shlex.split(line.replace("{lock}", "lock.txt")))
    except SystemExit as ended:
        status = ended.code
    output = capfd.readouterr()
    assert status == 2
    lines = output.err.strip().splitlines()
    (message,) = [text for text in lines if re.match(r"beyond-ram[a-z ]*: ", text)]
    assert re.search(CASES[line], message), message
    assert lines[-1] == message, output.err
    assert all(text.startswith(("beyond-ram", "reading and building")) for text in lines), output.err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", output.err)
    assert "Traceback" not in output.err
    assert output.out == ""
    assert listing(workspace) == before
