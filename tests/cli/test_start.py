"""`beyond-ram watch` imports little, starts quickly, and installs without the workflow."""

import re
import resource
import signal
import subprocess
import sys

import pytest

from beyond_ram import cli
from beyond_ram.cli import show

WATCH = [sys.executable, "-m", "beyond_ram", "watch"]
# Modules outside of the standard library that watching needs.
MAY_IMPORT = {
    "beyond_ram", "beyond_ram.memory_request", "beyond_ram.cli", "beyond_ram.cli.options", "beyond_ram.cli.programs",
    "beyond_ram.cli.watch", "beyond_ram.files", "beyond_ram.folders", "beyond_ram.mask_secrets", "beyond_ram.records",
    "beyond_ram.records.run_files", "beyond_ram.records.run_json", "beyond_ram.shipped", "beyond_ram.units",
}  # fmt: skip
WATCH_ROOM = "beyond_ram.watch"
# Packages of the standard library that are slow to import and not needed.
TOO_MUCH = {"asyncio", "concurrent", "email", "http", "multiprocessing", "sqlite3", "ssl", "unittest"}
STARTS = 3


def imported(*words):
    """Return the modules that a command of beyond-ram imports."""
    command = "from beyond_ram.cli import main; main(sys.argv[1:])"
    modules = []
    for text in ("", command):
        program = f"import sys; {text}\nprint(*sys.modules)"
        completed = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
        modules.append(set(completed.stdout.split()))
    return modules[1] - modules[0]


@pytest.mark.slow
def test_watch_imports_little():
    names = imported("watch", "--", "true")
    assert "beyond_ram.watch.sampler" in names, "imports were not seen"
    standard = {name for name in names if name.partition(".")[0] in sys.stdlib_module_names}
    assert not {name.partition(".")[0] for name in standard} & TOO_MUCH
    assert {name for name in names - standard if not name.startswith(WATCH_ROOM)} <= MAY_IMPORT


def cpu_s(command):
    """Return the CPU time of a command with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_watch_starts_quickly():
    """Compare the CPU time of a watched run with that of a Python that imports asyncio.

    Take the minimum of five, because other programs share the caches, in turns, because machines change in speed.
    """
    commands = [*WATCH, "--", "true"], [sys.executable, "-c", "import asyncio"]
    rounds = [[cpu_s(command) for command in commands] for _ in range(5)]
    watching, asyncio = map(min, zip(*rounds, strict=True))
    assert watching < STARTS * asyncio


def test_interrupted_command_gets_one_line(monkeypatch, capsys):
    monkeypatch.setattr(show, "run", lambda arguments: signal.raise_signal(signal.SIGINT))
    assert cli.main(["show", "x"]) == 130
    assert capsys.readouterr().err == "beyond-ram: interrupted\n"


@pytest.fixture(scope="module")
def bare_install(root, tmp_path_factory):
    """Create an environment with beyond-ram installed without an extra."""
    folder = tmp_path_factory.mktemp("small") / "venv"
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    command = ["uv", "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), str(root)]
    subprocess.run(command, check=True)
    return folder


@pytest.mark.slow
def test_install_without_extras_can_watch(bare_install):
    distributions = {path.name.partition("-")[0] for path in bare_install.rglob("*.dist-info")}
    assert distributions == {"beyond_ram"}
    command = [bare_install / "bin" / "beyond-ram", "watch", "--", "sleep", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "ask for" in done.stderr
    for option in ("--version", "--help"):
        subprocess.run([bare_install / "bin" / "beyond-ram", option], capture_output=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "extra"),
    [(["compare", "a", "b"], "workflow"), (["fit", "--memory", "1G", "--vary", "n=1,2", "--", "true", "{n}"], "fit")],
)
def test_missing_extra_is_named_in_the_message(bare_install, words, extra, tmp_path):
    done = subprocess.run([bare_install / "bin" / "beyond-ram", *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    how = rf"which is not installed here; .* '[A-Z/]+/beyond-ram\[{extra}\]'.*\n"
    assert re.fullmatch(rf"beyond-ram {words[0]}: needs \w+, {how}", done.stderr)
    assert not list(tmp_path.iterdir())


def test_every_command_is_listed():
    from beyond_ram.cli import COMMANDS

    listing = subprocess.run([sys.executable, "-m", "beyond_ram", "--help"], capture_output=True, text=True, check=True)
    assert set(re.findall(r"^    (\w+)(?: |$)", listing.stdout, re.M)) == set(COMMANDS)
