"""What a failing script prints last is shown as text: no secrets, no commands to a terminal, no markup that acts."""

import itertools
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from beyond_ram.cli import gate as cli_gate
from beyond_ram.experiment import Cell
from beyond_ram.gate.result import Gate
from beyond_ram.gate.runs import GateRuns
from beyond_ram.gate.wheels import Requirement
from beyond_ram.measure.campaign import Campaign
from beyond_ram.measure.gate import SIDES
from beyond_ram.measure.plan import Member
from beyond_ram.text import foreign, last_line
from tests.test_mask_secrets import PLANTED, ways

from .lines import decided

LINES = {
    "controls": "boom \x1b[31mred\x1b[0m \x1b]0;title\x07 \x08\x0c\x00\x01\x9b31m \u202e\ufffe\uffff end",
    "secrets": f"login(password='a {PLANTED}') failed for https://me:{PLANTED}@host and ['x', '--token', '{PLANTED}']",
    "picture": "![x](https://host/p.png) <img src=x onerror=alert(1)> &lt;b&gt;",
    "link": "[x](javascript:alert(1)) [y]: javascript:b <javascript:alert(1)> https://host/a www.host.org a@b.org",
    "mention": "@user \\@user #1 org/repo#12 GH-12 `@user` ``` | <!-- @user --> | **b** $x$",
    "backslashes": "\\[x\\](javascript:a) \\\\[y](javascript:b) \\![z](u) \\`@user`",
}


class _Config(SimpleNamespace):
    def job(self, _):
        job = SimpleNamespace(path="cell", workload="script", timeout_s=None, model_dump_json=lambda **_: "{}")
        job.but = lambda **_: job
        return job


@pytest.fixture(params=LINES)
def written(request, tmp_path, monkeypatch):
    """The files of a gate whose script fails with one of the lines on both sides, and not at all in another cell."""

    def failing(words):
        log = Path(shlex.split(words[-1])[-1])
        log.write_text(f"first\n{LINES[request.param]}\n\x1b[0m\n")
        return 1, ""

    monkeypatch.setattr("beyond_ram.measure.processes.run", failing)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    sides = {("base", side): SimpleNamespace(stack=f"base.{side}", python="x", lock="y") for side in SIDES}
    cells, campaign = [Cell("cell", (("stack", "base"),), 1)], Campaign(tmp_path, 1)
    config = _Config(results=str(tmp_path / "results"))
    runs = GateRuns(config, cells, sides, campaign, 60.0)
    made = [runs.once(Member("cell", side), repeat, "round") for repeat in (1, 2, 3) for side in SIDES]
    table = runs.table(made)
    same = table.assign(experiment="other", outcome="completed", completed_work=True, run_failed=0.0, reason="")
    broken = same.assign(experiment="worse")
    broken.loc[1::2, ["outcome", "completed_work", "run_failed"]] = "failed", False, 1.0
    broken.loc[1::2, "reason"] = table["reason"][0]
    table = pd.concat([table, same, broken], ignore_index=True)
    requested = {side: [Requirement("mine @ ./`a`|b", "mine", "")] for side in SIDES}
    comparisons = decided(table)
    result = Gate(requested, table, comparisons, 1.0, 60.0, cells=["cell", "other", "worse"])
    cli_gate._write(result, tmp_path)
    return tmp_path, result


def test_files_and_terminal_show_it_as_text(written):
    folder, result = written
    files = {name: (folder / name).read_text() for name in ("gate.md", "gate.xml")}
    files["gate.json"] = json.dumps(result.as_json())
    shown = "\n".join(result.lines())
    for name, text in {**files, "terminal": shown}.items():
        assert PLANTED not in text, name
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffe\uffff]", text), name
    assert PLANTED not in (folder / "runs.csv").read_text() + (folder / "changes.csv").read_text()
    ElementTree.fromstring(files["gate.xml"])
    why = result.runs["reason"][0]
    assert why and why in shown


def test_markdown_does_nothing(written):
    folder, _ = written
    text = (folder / "gate.md").read_text()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or []]
    assert not {"image", "link_open", "html_inline"} & {child.type for child in inline}
    plain = [child.content for child in inline if child.type == "text"]
    live = re.compile(r"@\w|#\w|\w#\d|https?://|www\.\w|GH-\d")
    assert not [content for content in plain if live.search(content)]
    assert not [token.content for token in tokens if token.type == "html_block"]


def test_last_line_is_the_last_that_shows_something():
    assert last_line("a\nb \x1b[1mc\x1b[0m\r\n\x1b[0m\x07\n \u200b\n", "nothing") == "b c"
    assert last_line("\x1b[0m\n", "nothing") == "nothing"
    assert len(last_line("x" * 1000, "")) == 300


def test_last_line_has_no_secret_that_began_lines_before():
    text = f"Traceback:\nSystemExit: conf = {{'user': 1,\n 'token': [\n  '{PLANTED}']}}"
    assert PLANTED not in last_line(text, "")
    assert PLANTED not in last_line(f"RuntimeError: password:\n{PLANTED}", "")
    assert PLANTED not in foreign(f"RuntimeError: password:\n{PLANTED}")
    for sign in "\u201c\u300c`<":
        assert PLANTED not in last_line(f"bad config\npassword = {sign}\n  {PLANTED}", "")
    assert PLANTED not in last_line(f"api_key=[\n{'k' * 50_000}\n{PLANTED}\n", "")


def test_last_line_is_the_kind_of_an_error_and_no_line_of_source_before_it():
    source = f'  File "case.py", line 3\n    login(password="{PLANTED}\n'
    assert last_line(f"{source}SyntaxError: unterminated string literal\n", "") == "SyntaxError: ***"
    assert last_line(f"{source}{PLANTED}\n", "") == "***"


def test_last_line_has_no_secret():
    for words in itertools.islice(ways(), 0, None, 20):
        assert PLANTED not in last_line(f"Error: Command {words} failed", "")
        if "\n" not in "".join(words):
            assert PLANTED not in last_line(f"+ {shlex.join(words)}", "")
