"""Paths of a config: accepted ones, and the one line that all others get."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from beyond_ram import experiment
from beyond_ram.experiment.places import OWN, RESULTS_MARK

from ..conftest import ROOT, project_files

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())
ACCEPTED = ["my results", "R&D", "a'b", 'a"b', "$(touch PWNED)", "`touch PWNED`", "[a-z]?", "a\\b", "#1", "50%", "a//b"]
REFUSED = [
    ("", "is empty"),
    (".", "a folder of its own"),
    ("/", "a folder of its own"),
    ("..", "holds '..'"),
    ("a/../envs", "holds '..'"),
    ("~", "begins with '~'"),
    ("$HOME/x", "variables are not expanded"),
    ("/scratch/${USER}/x", "variables are not expanded"),
    ("-x", "begins with '-'"),
    ("a\nb", "U+000A"),
    ("a\x00b", "U+0000"),
    ("a\ud800b", "U+D800"),
    ("a{b}", "Snakemake's"),
    (" x", "white space"),
    ("s3://bucket/x", "is an address"),
    ("a" * 256, "is too long"),
    ("envs", "is the project's own|lies in 'envs'"),
    ("scripts/mine", "lies in 'scripts'"),
    ("README.md", "cannot be a folder"),
]


def load(folder, **change):
    with contextlib.chdir(folder):
        return experiment.load(DEFAULT | change, [], ROOT)


def refusal(folder, **change):
    with pytest.raises(experiment.ConfigError) as error:
        load(folder, **change)
    message = str(error.value)
    assert "\n" not in message, message
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", message)
    return message


@pytest.mark.parametrize("results", ACCEPTED)
def test_any_valid_file_name_is_accepted(tmp_path, results):
    assert load(tmp_path, results=results).results == os.path.normpath(results)
    outside = str(tmp_path / results)
    assert load(ROOT, results=outside).results == os.path.normpath(outside), "as an absolute path too"


@pytest.mark.parametrize(("results", "pattern"), REFUSED)
def test_invalid_results_folder_gets_one_line(results, pattern):
    assert re.search(f"^results: .*({pattern.replace('+', '.')})", refusal(ROOT, results=results))


@pytest.mark.parametrize("name", ["home", "root", "holder"])
def test_project_and_folders_above_it_are_refused(name, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "a" / "home"))
    (tmp_path / "a" / "home").mkdir(parents=True)
    place = {"home": tmp_path / "a", "root": ROOT, "holder": ROOT.parent}[name]
    assert "or holds it" in refusal(tmp_path, results=str(place))


def test_list_of_the_projects_own_folders_is_complete():
    folders = {name.partition("/")[0] for name in project_files() if "/" in name}
    assert folders <= OWN


def test_a_folder_that_is_not_empty_needs_the_mark(tmp_path):
    mine = tmp_path / "mine"
    (mine / "corpora").mkdir(parents=True)
    assert "is not empty and no results folder" in refusal(tmp_path, results="mine")
    (mine / RESULTS_MARK).touch()
    assert load(tmp_path, results="mine")


def test_links_may_lead_to_a_results_folder_and_not_out_of_it(tmp_path):
    far = tmp_path / "far"
    far.mkdir()
    (tmp_path / "results").symlink_to(far)
    assert load(tmp_path)
    (far / RESULTS_MARK).touch()
    (far / "corpora").mkdir()
    (far / "latest").symlink_to("corpora")
    assert load(tmp_path)
    (far / "corpora" / "tiny").symlink_to(tmp_path)
    assert "holds the link corpora/tiny, which leads out of it" in refusal(tmp_path)
    (tmp_path / "nowhere").symlink_to("gone")
    assert "is a link that leads nowhere" in refusal(tmp_path, results="nowhere")
    (tmp_path / "circle").symlink_to("circle")
    assert refusal(tmp_path, results="circle")
    (tmp_path / "project").symlink_to(ROOT)
    assert "or holds it" in refusal(tmp_path, results="project")
    assert "lies in 'envs'" in refusal(tmp_path, results="project/envs/x")


def stream(**keys):
    matrix = {"stack": ["stream-current"], "repository": ["far"]}
    return {
        "repositories": {"far": {"source": "hub", "id": "a/b"}},
        "experiments": {"mine": {"workload": "stream", "matrix": matrix, **keys}},
        "ladders": {},
    }


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://me:s3cret@hub.example",
        "https://s3cret@hub.example",
        "https://hub.example?token=s3cret",
        "https://hub.example/#s3cret",
        "https:// s3cret",
        "https://[s3cret",
        "https://a\ns3cret",
        "file:///s3cret",
        "s3cret:x",
    ],
)
def test_secret_in_a_hub_address_is_refused_and_not_repeated(endpoint):
    message = refusal(ROOT, **stream(endpoint=endpoint))
    assert message.startswith("experiments.mine.endpoint: ")
    assert "s3cret" not in message
    assert ("HF_TOKEN" in message) == ("@" in endpoint)
    assert load(ROOT, **stream(endpoint="https://hub.example:8080/path"))


@pytest.mark.parametrize(
    "address",
    ["s3://me:s3cret@bucket/a.jsonl", "https://s3cret@host/a", "https://host/a?sig=s3cret", "HTTPS://host/a#s3cret"],
)
def test_secret_in_the_address_of_an_input_is_refused_and_not_repeated(tmp_path, address):
    (tmp_path / "tokenizer.json").touch()
    section = {"tokenizer": str(tmp_path), "out": "ids", "shards": 2, "inputs": [address]}
    message = refusal(ROOT, tokenise=section)
    assert message.startswith("tokenise.inputs") and "s3cret" not in message
    for fine in ("s3://bucket/a?.jsonl", "https://host:8080/a.jsonl"):
        assert load(ROOT, tokenise=section | {"inputs": [fine]}).tokenise


TINY = {"tokens": {"few": {"rows": 9}}, "experiments": {"x": {
    "workload": "load", "matrix": {"stack": ["loaders"], "tokens": ["few"], "loader": ["threads"]},
}}}  # fmt: skip
PARTS = st.sampled_from([*" '\";&$~\n/.-a`()|*\\{}<>#%é\x00", "..", "envs", ".git", "HOME", "results"])


@pytest.mark.slow
@given(st.one_of(st.lists(PARTS, max_size=6).map("".join), st.text(max_size=30)))
@example("R&D")
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_folder_of_its_own_or_one_line(tmp_path, text):
    (tmp_path / "work").mkdir(exist_ok=True)
    with contextlib.chdir(tmp_path / "work"):
        try:
            results = experiment.load(TINY | {"results": text}, [], ROOT).results
        except experiment.ConfigError as error:
            assert str(error).startswith("results: ")
            assert not re.search(r"[\x00-\x1f\x7f-\x9f]", str(error))
            return
        resolved = Path(results).resolve()
        assert text.startswith("/") or resolved.is_relative_to(Path.cwd()), "nothing climbs out"
        assert not Path.cwd().is_relative_to(resolved)
        assert not ROOT.is_relative_to(resolved)
        assert not results.startswith(("-", "~"))
        # Snakemake leaves it unchanged in a rule, and it is one word of a command.
        path = f"{results}/corpora/{{corpus}}"
        assert path.format(corpus="tiny") == f"{results}/corpora/tiny"
        assert shlex.split(shlex.quote(results)) == [results]


HOLD = (
    "import pathlib, sys, time; from beyond_ram.experiment import places; places.open_results(sys.argv[1]); "
    "places.lock_results(pathlib.Path(sys.argv[1])); print('held', flush=True); time.sleep(100)"
)


@pytest.mark.slow
def test_results_are_made_by_one_workflow_at_a_time(tmp_path):
    def holder():
        command = [sys.executable, "-c", HOLD, str(tmp_path / "results")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)

    def kill(process):
        process.kill()
        process.communicate()

    first = holder()
    assert first.stdout and first.stdout.readline() == "held\n"
    second = holder()
    assert "LockedError" in second.communicate()[1]
    assert second.returncode == 1
    kill(first)
    third = holder()
    assert third.stdout and third.stdout.readline() == "held\n", "a killed process holds no lock"
    kill(third)
