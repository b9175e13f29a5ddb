"""Target `tokenise`: several jobs turn a user's files into ids. A call does what was lost, and nothing else."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.tokenize.conftest import families
from tests.tokenize.test_stores import NOTHING, s3

from ..conftest import link_stack

__all__ = ["families"]  # a session fixture

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end]
IDLE = "Nothing to be done"


class Own:
    """A config with the section, its files and its calls."""

    def __init__(self, folder, tokenizer, snakemake):
        self.folder, self.tokenizer, self.snakemake = folder, tokenizer, snakemake
        self.ids, self.results = folder / "ids", folder / "results"
        words = ["".join(random.Random(number).choices("abcdefgh", k=1 + number % 9)) for number in range(2000)]
        texts = (random.Random(number).choices(words, k=80) for number in range(2000))
        lines = "".join(json.dumps({"text": " ".join(text)}) + "\n" for text in texts)
        (folder / "data").mkdir()
        for name in "ab":
            (folder / "data" / f"{name}.jsonl").write_text(lines * 9)

    def call(self, *words, **changed):
        section = {"inputs": [str(self.folder / "data")], "tokenizer": str(self.tokenizer), "out": str(self.ids)}
        section |= {"shards": 2, "format": "bin", "memory_limit_mb": 500, **changed}
        config = self.folder / "own.yaml"
        config.write_text(yaml.safe_dump({"defaults": "none", "results": str(self.results), "tokenise": section}))
        return self.snakemake("tokenise", "--cores", "2", *words, "--configfile", str(config))

    def planned(self):
        """The number of planned jobs of each rule."""
        done = self.call("--dry-run")
        assert done.returncode == 0, done.stderr
        assert {*re.findall(r"mem_mb=(\d+),.* anon_mb=500", done.stdout + done.stderr)} == {"850"}
        table = (done.stdout + done.stderr).partition("Job stats:\n")[2].partition("\n\n")[0]
        return {name: int(count) for name, count in map(str.split, table.splitlines()[2:])}

    def parts(self):
        return [path.read_bytes() for path in sorted(self.ids.glob("tokens*.bin"))]

    def times(self):
        """When each finished part was recorded."""
        return {path.name: path.stat().st_mtime_ns for path in self.ids.glob(".beyond-ram-tokenize/[0-9]*.json")}


def own_files(folder, families, project, snakemake):
    for stack in ("encoder", "encoder-0.23"):
        link_stack(stack, project)
    (folder / "tokenizer.json").write_bytes(families["gpt2"].read_bytes())
    return Own(folder, folder / "tokenizer.json", snakemake)


@pytest.fixture(scope="module")
def own(families, project, snakemake, tmp_path_factory):
    """Files that a first call has encoded. Each test leaves them so."""
    made = own_files(tmp_path_factory.mktemp("own"), families, project, snakemake)
    done = made.call()
    assert done.returncode == 0, done.stderr
    assert f"{made.ids}: 36,000 documents" in done.stderr
    return made


def test_ids_are_those_of_one_machine_and_a_second_call_is_idle(own, project, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(project)}
    command = [sys.executable, "-m", "beyond_ram", "tokenize", own.folder / "data", "--tokenizer", own.tokenizer]
    command += ["--format", "bin", "--out", tmp_path / "alone"]
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=project)
    assert b"".join(own.parts()) == (tmp_path / "alone" / "tokens.bin").read_bytes()
    assert min(map(len, own.parts())) > 0
    assert IDLE in own.call().stderr
    assert IDLE in own.call(workers=2, memory_limit_mb=600).stderr


@pytest.mark.parametrize(
    "lost", ["ids/tokens-00002-of-00002.bin", "results/tokenise/shard-1.record", "ids/summary.json"]
)
def test_what_is_gone_is_made_again_and_nothing_else(own, lost):
    before, times = own.parts(), own.times()
    (own.folder / lost).unlink()
    shards = {} if "summary" in lost else {"tokenise_shard": 1}
    assert own.planned() == {**shards, "tokenise": 1, "total": len(shards) + 1}
    done = own.call()
    assert done.returncode == 0, done.stderr
    assert own.parts() == before
    again = {name for name in times if own.times()[name] != times[name]}
    second_half = {f"{number:06d}.json" for number in range(len(times) // 2, len(times))}
    assert again == (second_half if "tokens" in lost else set())
    assert IDLE in own.call().stderr


def test_damage_of_the_same_size_is_made_good_by_the_next_call(own):
    before, part = own.parts(), own.ids / "tokens-00001-of-00002.bin"
    part.write_bytes(b"damage" + part.read_bytes()[6:])
    (own.ids / "summary.json").unlink()
    done = own.call()
    assert done.returncode == 1
    assert f"{part.name} is missing or damaged" in done.stderr
    assert not (own.ids / "summary.json").exists()
    assert own.call().returncode == 0
    assert own.parts() == before
    assert (own.ids / "summary.json").exists()


def test_other_inputs_are_noticed_without_snakemakes_own_records(own, project):
    more, records = own.folder / "data" / "c.jsonl", project / ".snakemake"
    records.rename(project / "apart")
    more.write_text('{"text": "more"}\n')
    planned = own.planned()
    more.unlink()
    idle = own.call("--dry-run")
    shutil.rmtree(records)
    (project / "apart").rename(records)
    assert planned["tokenise_shard"] == 2
    assert IDLE in idle.stdout + idle.stderr


def test_another_question_is_refused_in_a_line_and_its_ids_stay(own):
    before = own.parts()
    done = own.call(shards=3)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("beyond-ram: --out ")]
    assert lines and all("number of shards was 2 and is 3" in line for line in lines)
    assert own.parts() == before
    assert own.call().returncode == 0
    assert own.parts() == before


def test_inputs_that_cannot_be_listed_are_refused_when_it_is_planned(own):
    done = own.call(inputs=[str(own.folder / "none")])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"beyond-ram: {own.folder}/none: no such file, folder or pattern with files"
    assert IDLE in own.call().stderr


@contextmanager
def killing(out):
    """Kill all processes of one shard, as a lost machine does, once a part of any is finished."""
    killed = []

    def kill():
        until = time.monotonic() + 60
        while time.monotonic() < until and not killed:  # this shard may begin after a part of the other
            time.sleep(0.005)
            for entry in Path("/proc").iterdir() if [*out.glob(".beyond-ram-tokenize/[0-9]*.json")] else ():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                    of_shard = b"--shard=2/2" in words and f"--out={out}".encode() in words
                    if of_shard and words[1].endswith(b"engine/run.py"):
                        os.kill(int(entry.name), signal.SIGKILL)
                        killed.append(int(entry.name))
                except OSError:
                    continue

    thread = threading.Thread(target=kill)
    thread.start()
    yield killed
    thread.join()


@pytest.mark.parametrize("retries", [0, 1])
def test_lost_job_is_done_again_from_where_it_was(retries, families, project, snakemake, tmp_path, own):
    mine = own_files(tmp_path, families, project, snakemake)
    with killing(mine.ids) as killed:
        done = mine.call("--retries", str(retries))
    assert killed
    assert done.returncode == 1 - retries, done.stderr
    times = mine.times()
    assert times
    if not retries:
        assert not (mine.ids / "summary.json").exists()
        assert mine.call().returncode == 0
        assert times.items() <= mine.times().items(), "a finished part was made again"
    assert mine.parts() == own.parts()
    assert IDLE in mine.call().stderr


def test_without_the_section_a_line_says_what_to_write(snakemake):
    done = snakemake("tokenise")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("beyond-ram: ")]
    example = yaml.safe_load(line.partition("`")[2].rpartition("`")[0])
    assert {"inputs", "tokenizer", "out", "shards"} == example["tokenise"].keys()


def test_objects_of_a_store_give_the_same_ids_and_are_looked_at_in_each_call(own, project, tmp_path, monkeypatch):
    link_stack("stores", project)
    (tmp_path / "root/datasets/user").mkdir(parents=True)
    shutil.copytree(own.folder / "data", tmp_path / "root/datasets/user/texts")
    with s3(tmp_path / "root", tmp_path) as store:
        for name, value in {**NOTHING, **store.variables}.items():
            monkeypatch.setenv(name, value)
        there = {"inputs": [f"{store.address}/"], "out": str(tmp_path / "ids")}
        for _ in range(2):
            done = own.call(**there)
            assert done.returncode == 0, done.stderr
        assert IDLE not in done.stderr
        parts = [path.read_bytes() for path in sorted((tmp_path / "ids").glob("tokens*.bin"))]
        assert b"".join(parts) == b"".join(own.parts())
        store.change("a.jsonl", b'{"text": "another"}\n')
        done = own.call(**there)
        assert done.returncode != 0 and "a.jsonl" in done.stderr, done.stderr
    assert own.call().returncode == 0
