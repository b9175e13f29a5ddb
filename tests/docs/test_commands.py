"""Every command, config and piece of Python on the pages is run, beside the files that a reader would have.

Comments above a block (see `pages.py`) say what is not run, and why.
"""

import argparse
import functools
import gzip
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
import yaml
from snakemake.cli import get_argument_parser

from beyond_ram import experiment
from beyond_ram.cli import COMMANDS

from ..conftest import ROOT, interpreter, project_files
from .pages import NOTES, PAGES, blocks, spans

SHELL, KNOWN = ("sh", "bash"), ("sh", "bash", "yaml", "python", "text")
# test_tutorial.py runs its commands and compares their output with the page.
ELSEWHERE = ("tutorial.md",)
BLOCKS = [block for page in PAGES for block in blocks(page) if page.name not in ELSEWHERE]
BIN = Path(sys.executable).parent
# `uv run` in an environment that exists already.
STAND_INS = {
    "uv": f"""[ "$1" = run ] || exec {BIN}/uv "$@"
shift
while true; do case "$1" in --project | --group) shift 2;; *) exec "$@";; esac; done""",
    "pip": '[ "$*" = "install uv" ] || [ "$*" = "install PATH/TO/beyond-ram" ]',
}
SECONDS = 120
# A call of the command, up to its end, the command that it watches, or the next line that is not part of it.
COMMAND_LINE = re.compile(r"(?<![/\w])beyond-ram (?!beyond-ram)([a-z]+)((?:(?! -- |[;|&]|\n\S).)*)", re.DOTALL)


def blocks_in(*languages):
    """The blocks in these languages, as parameters with their marks."""
    return [pytest.param(block, id=str(block), marks=marks(block)) for block in BLOCKS if block.language in languages]


def marks(block):
    """Plans and blocks that are noted as slow take seconds: those beyond README's, and what needs slow ones, are run
    end to end."""
    before = [one for one in BLOCKS if one.page == block.page != ROOT / "README.md" and one.line <= block.line]
    late = is_slow(block) and any(one.note("slow") is not None and not one.note("not run") for one in before)
    late |= block.note("planned") is not None and block.page != ROOT / "README.md"
    return [*[pytest.mark.slow] * is_slow(block), *[pytest.mark.end_to_end] * late]


def is_plan(block):
    """Whether a block only calls Snakemake, as a dry run: no later block needs it."""
    return block.note("planned") is not None and all("snakemake " in line for line in block.text.splitlines())


def is_run(block):
    """Whether a block is run at its place: plans take seconds, and those of README stand for all."""
    return not is_plan(block) or block.page == ROOT / "README.md"


def is_slow(block):
    return any(block.note(key) is not None for key in ("slow", "planned", "stack"))


def skip_if_not_run(block):
    if reason := block.note("not run"):
        pytest.skip(f"{block}: {reason}")


class Place:
    """A checkout with the files of a reader of one page. Blocks run once, in the order of the page."""

    def __init__(self, folder, page, places, checkout, path):
        self.folder, self.places, self.path = folder, places, path
        self.done = {}
        shutil.copytree(checkout, folder, symlinks=True)
        for block in BLOCKS:
            if block.page == page and block.language == "yaml" and block.text.count("defaults: none"):
                name = block.text.partition("\n")[0].removeprefix("# ")
                (folder / (name if name.endswith(".yaml") else "mine.yaml")).write_text(block.text)
        (folder / "PATH" / "TO").mkdir(parents=True)
        (folder / "PATH" / "TO" / "beyond-ram").symlink_to(folder)
        self.stand_ins = folder / ".stand-ins"
        self.stand_ins.mkdir()
        for name, text in STAND_INS.items():
            (self.stand_ins / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.stand_ins / name).chmod(0o755)
        (self.stand_ins / "planned").mkdir()
        (self.stand_ins / "planned" / "config.yaml").write_text("dry-run: true\n")

    def environment(self, block):
        planned = {"SNAKEMAKE_PROFILE": str(self.stand_ins / "planned")} if block.note("planned") else {}
        environment = os.environ | {"PATH": f"{self.stand_ins}:{self.path}", "PYTHONPATH": str(self.folder)}
        return environment | planned | {"PYTEST_ADDOPTS": "-n 0"}  # the checkout's own settings start several processes

    def run_up_to(self, block):
        """Run the blocks of the page up to this one; slow ones only if it is slow too."""
        for other in BLOCKS:
            before = other.page == block.page and other.line < block.line and other.language in (*SHELL, "python")
            wanted = before and not other.note("not run") and is_slow(other) <= is_slow(block) and not is_plan(other)
            if other not in self.done and (wanted or other == block):
                self.done[other] = self.run(other)
        return self.done[block]

    def binaries(self):
        """The corpus that docs/corpora.md makes by hand."""
        (block,) = (block for block in BLOCKS if "--out my-binaries" in block.text)
        self.run_up_to(block)
        return self.folder / "my-binaries"

    def run(self, block):
        for stack in {*re.findall(r"\.stacks/([\w.-]+)/", block.text), *needed_stacks(block)}:
            link = self.folder / ".stacks" / stack
            link.parent.mkdir(exist_ok=True)
            if not link.exists():
                link.symlink_to(interpreter(stack).parents[1])
        corpus = self.folder / "results" / "corpora" / "binaries"
        if str(corpus.relative_to(self.folder)) in block.text and not corpus.exists():
            corpus.parent.mkdir(parents=True)
            corpus.symlink_to(self.places(ROOT / "docs" / "corpora.md").binaries())
        if block.language == "python":
            stack = block.note("stack")
            python = str(interpreter(stack)) if stack else sys.executable
            command = [python, "-c", f"{block.note('given') or ''}\n{block.text}"]
        else:
            command = ["bash", "-euo", "pipefail", "-c", block.text]
        if ready := block.note("until"):
            return self.until(command, ready, block)
        return subprocess.run(
            command, cwd=self.folder, env=self.environment(block), stdin=subprocess.DEVNULL, timeout=SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def until(self, command, ready, block):
        """Run a command that does not end, and interrupt it once it is ready."""
        command = [*command[:-1], f"exec {command[-1].removeprefix('uv run ')}"]
        with subprocess.Popen(
            command, cwd=self.folder, env=self.environment(block), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            assert process.stdout
            output = ""
            for line in process.stdout:
                output += line
                if ready in line:
                    process.send_signal(signal.SIGINT)
        return subprocess.CompletedProcess(command, process.returncode if ready in output else 1, output, "")


def needed_stacks(block):
    """Stacks that a command would build if missing; tests make them once."""
    return ["encoder", "encoder-0.23"] if "beyond-ram tokenize " in block.text else []


def write_readers_files(folder):
    """Write the files that pages assume: a program, tests, text, a tokenizer, token ids, a loader, earlier runs."""
    (folder / "train.py").write_text("import time\nheld = bytearray(30_000_000)\ntime.sleep(0.2)\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_mine.py").write_text("def test_mine():\n    pass\n")
    (folder / "data" / "more").mkdir(parents=True)
    lines = [{"text": f"word {number}", "body": f"word {number}"} for number in range(20_000)]
    (folder / "data" / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    pd.DataFrame(lines[:10]).to_parquet(folder / "data" / "more" / "a.parquet")
    compressed = pd.DataFrame(lines[:10]).to_json(orient="records", lines=True)
    with pyarrow.CompressedOutputStream(str(folder / "data" / "b.jsonl.zst"), "zstd") as file:
        file.write(compressed.encode())
    (folder / "more").mkdir()
    (folder / "more" / "a.jsonl.gz").write_bytes(gzip.compress(compressed.encode()))
    end = {"id": 256, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}  # fmt: skip
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "merges": [],
                  "vocab": {character: number for number, character in enumerate(byte_characters())}},
    }  # fmt: skip
    for name in ("my-tokenizer", "my-model"):
        (folder / name).mkdir()
        (folder / name / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(folder / "my-model" / "tokenizer.json", folder)
    np.save(folder / "train.npy", np.zeros((100, 16), np.uint16))
    (folder / "train.bin").write_bytes(bytes(2 * 1024 * 10))
    shutil.copy(folder / "examples" / "own_loader.py", folder / "my_loader.py")
    (folder / "results").mkdir()
    (folder / "results" / ".beyond-ram-results").touch()
    (folder / "DIR").mkdir()


def byte_characters():
    """The character of a byte-level tokenizer for each byte."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


@pytest.fixture(scope="module")
def places(tmp_path_factory, path):
    """The place of a page: a copy of one checkout with the files of a reader."""
    copies = {}
    checkout = tmp_path_factory.mktemp("checkout")
    for name in project_files():
        if not name.startswith("tests/"):
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    write_readers_files(checkout)

    def place(page):
        if page not in copies:
            copies[page] = Place(tmp_path_factory.mktemp(page.stem) / "beyond-ram", page, place, checkout, path)
        return copies[page]

    yield place


@pytest.mark.slow
@pytest.mark.parametrize("block", [one for one in blocks_in(*SHELL) if is_run(one.values[0])])
def test_a_command_is_run(block, places):
    skip_if_not_run(block)
    done = places(block.page).run_up_to(block)
    assert done.returncode == 0, f"{block}\n{block.text}{done.stdout[-2000:]}{done.stderr[-3000:]}"
    if block.note("planned"):
        assert re.search(r"^total +[1-9]", done.stdout + done.stderr, re.MULTILINE), "nothing is planned"


@pytest.mark.slow
def test_calls_of_snakemake_name_existing_targets_options_and_files(places):
    """The plan of each shipped config is made in rules/test_plan.py, those of README's calls above."""
    place = places(ROOT / "README.md")
    listed = subprocess.run(
        ["snakemake", "--list-target-rules"], cwd=place.folder, env=os.environ | {"PATH": place.path},
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    calls = [line.partition("snakemake ")[2] for block in BLOCKS if is_plan(block) for line in block.text.splitlines()]
    assert calls
    for call in calls:
        options = get_argument_parser().parse_args(shlex.split(call, comments=True))
        assert {*options.targets} <= {*listed}, call
        files = [*(options.configfile or ()), *filter(None, [options.workflow_profile])]
        assert all((ROOT / file).exists() for file in files), call


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks_in("python"))
def test_python_is_run(block, places):
    compile(block.text, str(block), "exec")
    skip_if_not_run(block)
    done = places(block.page).run_up_to(block)
    assert done.returncode == 0, f"{block}\n{block.text}{done.stderr[-3000:]}"


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks_in("yaml"))
def test_a_config_is_accepted(block, readers):
    """By the workflow, over config.yaml; a workflow of GitHub by the inputs of the action."""
    skip_if_not_run(block)
    content = yaml.safe_load(block.text)
    if "jobs" in content:
        steps = [step for job in content["jobs"].values() for step in job["steps"] if "with" in step]
        inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
        assert steps
        assert all({*step["with"]} <= {*inputs} for step in steps)
        return
    mine = readers.folder / "mine.yaml"
    mine.write_text(block.text)
    overrides = {"folder": str(readers.folder)}
    config, files = experiment.merge.read([ROOT / "config.yaml"], [mine], overrides, experiment.content_of)
    checked = experiment.load(config, files, readers.folder, overrides)
    assert content.keys() <= checked.model_dump().keys()


@pytest.fixture(scope="module")
def readers(places):
    """The place where configs are checked, with stack `mine`, which some of them name."""
    place = places(Path("configs"))
    for end in ("in", "txt", "yaml"):
        shutil.copy(place.folder / "envs" / f"current.{end}", place.folder / "envs" / f"mine.{end}")
    return place


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_name_a_known_language(page):
    page_blocks = list(blocks(page))
    unknown = [block for block in page_blocks if block.language not in KNOWN and not block.language.startswith("{")]
    assert not unknown, f"{unknown[0]}: one of {', '.join(KNOWN)}"
    assert {key for block in page_blocks for key, _ in block.notes} <= {*NOTES}


@functools.cache
def flags_of(command):
    """The options of `beyond-ram COMMAND` and of its subcommands."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"beyond_ram.cli.{command}").add_to(parser.add_subparsers())
    flags, parsers = set[str](), [parser]
    while parsers:
        for action in parsers.pop()._actions:
            flags |= {*action.option_strings}
            parsers += action.choices.values() if isinstance(action, argparse._SubParsersAction) else ()
    return flags


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_on_a_page_exist(page):
    """Also in text, and in blocks that are not run."""
    wrong = []
    for text in (*spans(page), *(block.text for block in blocks(page))):
        for command, rest in COMMAND_LINE.findall(text):
            command_flags = flags_of(command) if command in COMMANDS else set()
            flags = {*re.findall(r"(?<!\S)\[?\(?(--[\w-]+)", rest)}
            if command not in COMMANDS or (command != "run" and not flags <= command_flags):
                wrong.append((command, flags - command_flags))
    assert not wrong
