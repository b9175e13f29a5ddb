"""The built wheel in an environment of its own, without a checkout, and without uv on PATH."""

import json
import re
import subprocess
import sys

import pytest

from beyond_ram.cli import COMMANDS
from beyond_ram.stacks.locks import uv
from tests.bisect import served

from .watch.conftest import needs_group

NEED_A_CHECKOUT = (
    ["run", "-n"], ["bump", "current"], ["gate", "--baseline", "a==1", "--candidate", "a==2"],
    ["stack", "add", "mine", "numpy"], ["stack", "upgrade", "current"],
)  # fmt: skip
NEED_RESULTS = (["compare", "current", "current"],)
SCRIPT = "# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\nkept = b'x' * stairs.SIZE\n"


@pytest.fixture(scope="module")
def command(root, tmp_path_factory):
    """The command `beyond-ram` of the installed wheel, with the packages of the driver's lock."""
    folder = tmp_path_factory.mktemp("wheel")

    def run(*words):
        subprocess.run([uv(), *map(str, words)], check=True, cwd=root, capture_output=True)

    run("build", "--quiet", "--wheel", "--out-dir", folder)
    run("venv", "--quiet", f"--python={sys.executable}", folder / "venv")
    install = ("pip", "install", "--quiet", f"--python={folder / 'venv/bin/python'}")
    run(*install, "--exclude-newer=false", "--require-hashes", "--requirement", "envs/driver.txt")
    run(*install, "--no-deps", next(folder.glob("*.whl")))
    return folder / "venv/bin/beyond-ram"


@pytest.mark.slow
@pytest.mark.end_to_end
@needs_group
def test_commands_work_from_the_wheel(command, root, tmp_path):
    place = tmp_path / "empty"
    (place / "text").mkdir(parents=True)
    (place / "text" / "a.jsonl").write_text('{"text": "a"}\n')
    called = set[str]()
    (place / "case.py").write_text(SCRIPT)
    wheels = [served.wheel(tmp_path, "stairs", version, f"SIZE = {size}\n")
              for version, size in (("1.0", 20_000_000), ("1.1", 60_000_000))]  # fmt: skip
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache")}
    with served.index({"stairs": served.page("stairs", wheels)}, tmp_path) as address:

        def call(*words, status=0, error=False):
            """What a command prints, on standard error if `error`."""
            environment = bare | {"UV_DEFAULT_INDEX": address}
            done = subprocess.run([command, *words], cwd=place, env=environment, capture_output=True, text=True)
            assert done.returncode == status, (words, done.stdout, done.stderr)
            called.add(words[0])
            return done.stderr if error else done.stdout

        call("watch", "--out", "watched", "--", "sleep", "0.2")
        call("show", "watched", "--html", "watched.html")
        assert json.loads(call("job", "--record", "watched", "--json"))["request"]
        varied = ("--vary", "n=1,2", "--", "python3", "-c", "import time; held = b'x' * ({n} * 10**7); time.sleep(0.2)")
        assert len(json.loads(call("fit", "--memory", "1G", "--json", *varied))["settings"]) == 2
        assert "watch" in call("completion", "bash")
        call("init", "text")
        for words in NEED_A_CHECKOUT:
            assert re.fullmatch("beyond-ram: .*checkout.*\n", call(*words, status=2, error=True)), words
        for words in NEED_RESULTS:
            assert re.fullmatch("beyond-ram: neither .*\n", call(*words, status=2, error=True)), words
        call("why", "case.py")
        call("limit", "case.py", "--share", "0")
        ends = ("--good", "1.0", "--bad", "1.1")
        call("bisect", "case.py", "--package", "stairs", *ends, "--metric", "end", "--budget", "2")
        sides = ("--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "case.py", "--budget", "2")
        call("gate", *sides, status=1)
        call("atlas", "compare", str(root / "envs/june-2023.txt"), "newest")
        call("tokenize", "text", "--tokenizer", "case.py", "--out", "ids", status=2)
    assert called == {*COMMANDS} - {"measure", "make"}, "those that rules call"
    (step,) = json.loads((place / "results-bisect/bisect.json").read_text())["steps"]
    assert step["to_value"] - step["from_value"] > 30e6
    assert json.loads((place / "results-limit/limit.json").read_text())["completed_at_bytes"] > 60e6
    held = {step["holder"] for step in json.loads((place / "results-why/why.json").read_text())["steps"]}
    assert "kept" in held and (place / "results-gate/gate.md").stat().st_size
