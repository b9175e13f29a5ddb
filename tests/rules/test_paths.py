"""Nothing outside the results folder changes, whatever its name: everything is listed before and after."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from beyond_ram.experiment.places import RESULTS_MARK

from .conftest import environment

pytestmark = pytest.mark.slow

TINY = {
    "corpora": {
        "tiny": {
            "source": "synthetic",
            "documents": 1,
            "document_characters": 100,
            "tokenizer": {"train": "byte-level", "entries": 600},
        }
    },
    "only": ["growth"],
}


def listing(folder, skip):
    """Path, kind, size, time and content of everything below a folder, except one path and caches."""
    entries = {}
    for place, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in (".snakemake", "__pycache__") and Path(place, name) != skip]
        for name in [*names, *files]:
            path = Path(place, name)
            if path == skip:
                continue
            status = path.lstat()
            state = (status.st_mode, path.is_symlink() and path.readlink())
            if name in files and not path.is_symlink():
                state += (status.st_size, status.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            entries[str(path.relative_to(folder))] = state
    return entries


@contextlib.contextmanager
def untouched(project, results):
    """Check that the block changes nothing but the results, in the project and beside it."""
    before = listing(project.parent, results)
    yield
    assert listing(project.parent, results) == before


def written(folder, **change):
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(TINY | change))
    return path


def test_snakemake_needs_no_activated_environment(project, tmp_path):
    config = written(tmp_path, results="results-called-by-path")
    done = subprocess.run(
        [
            Path(sys.executable).with_name("snakemake"), "--cores", "1", "--configfile", config,
            "--", "results-called-by-path/corpora/tiny/manifest.json",
        ],
        cwd=project, env=environment(project, "/usr/bin:/bin"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    shutil.rmtree(project / "results-called-by-path", ignore_errors=True)
    assert done.returncode == 0, done.stderr


HOSTILE = "R&D my results;touch PWNED;$(touch PWNED) `touch PWNED` 5$ 'q' \"d\" ~ * \\ | #"


@pytest.mark.parametrize("named", [HOSTILE, "li nk"])
def test_corpus_below_any_name_touches_nothing_else(project, snakemake, tmp_path, named):
    results = project / HOSTILE
    if named != HOSTILE:
        results = project.parent / "behind a link"
        results.mkdir()
        (project / named).symlink_to(results)
    config = written(tmp_path, results=named)
    with untouched(project, results):
        for words in ([], ["--force"]) if named == HOSTILE else ([],):
            done = snakemake("--configfile", str(config), *words, "--", f"{named}/corpora/tiny/manifest.json")
            assert done.returncode == 0, done.stderr[-3000:]
            assert (results / "corpora" / "tiny" / "files" / "000000.jsonl").exists()
            assert sorted(path.name for path in (results / "corpora").iterdir()) == ["tiny"]


@pytest.mark.parametrize("where", ["foreign", "the corpus's place"])
def test_folder_that_is_no_results_folder_stays_as_it_is(project, snakemake, tmp_path, where):
    """Snakemake would remove the files of a corpus before it makes them."""
    mine = project.parent / where
    (mine / "tiny" / "files").mkdir(parents=True)
    (mine / "tiny" / "files" / "precious.txt").write_text("precious")
    (mine / "tiny" / "manifest.json").write_text("precious")
    results = f"results {where}"
    (project / results).mkdir()
    if where == "foreign":
        shutil.copytree(mine, project / results / "corpora")
    else:  # without a manifest Snakemake removes nothing, and the program refuses the folder
        (project / results / RESULTS_MARK).touch()
        (project / results / "corpora" / "tiny").mkdir(parents=True)
        (project / results / "corpora" / "tiny" / "precious.txt").write_text("precious")
    before = listing(project / results, Path())
    with untouched(project, project / results):
        config = written(tmp_path, results=results)
        done = snakemake("--configfile", str(config), "--", f"{results}/corpora/tiny/manifest.json")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr + done.stdout
    after = listing(project / results, Path())
    assert {name: after.get(name) for name in before} == before
    output = done.stderr + done.stdout
    assert f"{config}, results: " in output or "is not empty and was not made by beyond-ram" in output


def test_hostile_config_makes_single_commands_with_whole_paths(project, snakemake, tmp_path):
    """All shell commands of a dry run, parsed by bash and by shlex."""
    (project / "a'b; touch PWNED.py").write_text("SHUFFLE = make = None")
    (project / "d&a ta").write_text("")
    change = {
        "results": HOSTILE,
        "loaders": {"own": {"module": "a'b; touch PWNED.py", "data": "d&a ta"}},
        "experiments": {
            "own": {"workload": "load", "matrix": {"stack": ["loaders"], "loader": ["own"]}},
            "staircase": {"matrix": {"corpus": ["tiny"], "num_files": [1]}},
        },
        "only": ["own", "staircase", "requests", "beyond-ram"],
    }
    config = written(tmp_path, **change)
    with untouched(project, project / HOSTILE):
        done = snakemake("--configfile", str(config), "--dry-run", "--printshellcmds", "all")
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    commands = re.findall(r"^Shell command: (.*)$", done.stdout + done.stderr, re.MULTILINE)
    programs, all_words = set(), set()
    for command in commands:
        subprocess.run(["bash", "-n", "-c", command], check=True)
        words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
        assert not set(words) & {";", "&", "&&", "|", "||", "(", ")", "<"}, command
        programs.add(" ".join(words[:2]))
        words = [text for word in words for text in strings(word)]
        all_words |= set(words)
        assert all(HOSTILE in word for word in words if "R&D" in word or ("PWNED" in word and ".py" not in word)), (
            command
        )
    assert {"beyond-ram make", "beyond-ram measure", "beyond-ram stack"} <= programs
    assert {"d&a ta", "a'b; touch PWNED.py"} <= all_words


def strings(word):
    """The values of a job, which is one word of JSON, or any other word itself."""
    if not word.startswith("{"):
        return [word]
    served = json.loads(word).pop("served", {})
    values = [*json.loads(word).values(), *served.values()]
    return [
        text for value in values for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
    ]


def test_a_list_of_patterns_may_be_longer_than_a_command(project, snakemake, tmp_path):
    folder = tmp_path.joinpath(*["a" * 200] * 5)
    folder.mkdir(parents=True)
    patterns = [str(folder / f"{number:04}.txt") for number in range(150)]
    for pattern in patterns:
        Path(pattern).write_text("text")
    assert sum(map(len, patterns)) > 158_000
    corpus = {"source": "files", "glob": patterns, "tokenizer": {"train": "byte-level", "entries": 600}}
    config = written(tmp_path, results="many", corpora={"tiny": corpus})
    done = snakemake("--configfile", str(config), "--", "many/corpora/tiny/manifest.json")
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert len(list((project / "many/corpora/tiny/files").glob("*.jsonl"))) == 150


def test_fault_names_the_file_or_option_that_wins(snakemake, tmp_path):
    """The last file on the command line wins over the others, and --config over all."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("results: first\nbudget_min: 0\nunknown: 1\n")
    second.write_text("results: second\nbudget_min: 0\n")
    output = snakemake("--configfile", str(first), str(second), "--config", "results=..", "--dry-run").stderr
    assert "Traceback" not in output
    assert "--config, results: holds '..'" in output
    assert f"{second}, budget_min: " in output
    assert f"{first}: unknown key 'unknown'" in output
