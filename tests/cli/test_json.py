"""Option `--json`: one JSON document on standard output, and the text on standard error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram import cli

from ..conftest import ROOT

HOLDS = [sys.executable, "-c", "import time; held = bytearray(40_000_000); print('its own'); time.sleep(0.3)"]


@pytest.fixture
def document(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capfd.readouterr()
        assert cli.main([*map(str, words), "--json"]) == 0
        output = capfd.readouterr()
        assert output.err.strip(), "the text"
        return json.loads(output.out)

    return call


@pytest.mark.slow
def test_watch_show_and_job_have_record_and_request(document, capfd):
    assert cli.main(["watch", "--out", "run", "--json", "run.json", "--", *HOLDS, "--token=s3cret"]) == 0
    assert capfd.readouterr().out == "its own\n"
    watched = json.loads(Path("run.json").read_text())
    assert watched["request"]["kept_bytes"] > 40e6 and watched["request"]["mem"].endswith("M")
    assert watched["record"]["outcome"] == "completed" and "s3cret" not in json.dumps(watched)
    (shown,) = document("show", "run")["runs"]
    assert shown == {"folder": "run", **watched}
    assert document("job", "--record", "run")["request"] == watched["request"]


@pytest.mark.slow
def test_document_of_watch_follows_the_commands_output_and_replaces_no_other_file(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["watch", "--json", "-", "--", *HOLDS]) == 0
    first, _, rest = capfd.readouterr().out.partition("\n")
    assert first == "its own" and json.loads(rest)["record"]["outcome"] == "completed"
    contents = {"train.py": "print()", "list.json": '["request", "record"]', "map.json": "{}"}
    for name, text in contents.items():
        Path(name).write_text(text)
    for name in (*contents, "nothing/run.json"):
        assert cli.main(["watch", "--json", name, "--", "touch", "began"]) == 2
    assert {name: Path(name).read_text() for name in contents} == contents and not Path("began").exists()


@pytest.mark.slow
def test_document_that_cannot_be_written_is_no_success(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("beyond_ram.cli.watch.write", full)
    assert cli.main(["watch", "--json", "run.json", "--", "true"]) == 1
    assert "No space left" in capfd.readouterr().err and not Path("run.json").exists()


def test_results_of_locks_are_a_document(document):
    compared = document("atlas", "compare", ROOT / "envs/june-2023.txt", "newest")
    assert "datasets" in {one["library"] for one in compared["libraries"]}


@pytest.mark.parametrize(("to", "status"), [("| true", 141), ("> /dev/full", 2), (">&-", 0)])
def test_output_that_nobody_reads_has_no_traceback(to, status):
    long = "sleep 0.3; " if to == "| true" else ""  # until the reader has gone
    call = f"({long}{sys.executable} -m beyond_ram completion bash; echo $? >&2) {to}"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert int(done.stderr.split()[-1]) == status, done.stderr
