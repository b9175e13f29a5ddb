"""`beyond-ram watch` is small: it imports little, starts at once, and installs without the workflow."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = [sys.executable, "-m", "beyond_ram", "watch"]
# What may be imported beyond the standard library: the rooms that watching needs.
MAY_IMPORT = {
    "beyond_ram", "beyond_ram.advice", "beyond_ram.cli", "beyond_ram.cli.project", "beyond_ram.cli.watch",
    "beyond_ram.files", "beyond_ram.folders", "beyond_ram.masked", "beyond_ram.run_files",
    "beyond_ram.units",
}  # fmt: skip
WATCH_ROOM = "beyond_ram.watch"
# Of the standard library: what takes long, and is not needed.
TOO_MUCH = {"asyncio", "concurrent", "email", "http", "multiprocessing", "sqlite3", "ssl", "unittest"}
STARTS = 3


def imported(*words: str) -> set[str]:
    """The modules that are there at the end of a command of beyond-ram, and not in a bare interpreter."""
    command = "from beyond_ram.cli import main; main(sys.argv[1:])"
    modules = []
    for text in ("", command):
        program = f"import sys; {text}\nprint(*sys.modules)"
        completed = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
        modules.append(set(completed.stdout.split()))
    return modules[1] - modules[0]


@pytest.mark.slow
def test_what_watch_imports() -> None:
    names = imported("watch", "--", "true")
    assert "beyond_ram.watch.sampler" in names, "what was imported was not seen"
    standard = {name for name in names if name.partition(".")[0] in sys.stdlib_module_names}
    assert not {name.partition(".")[0] for name in standard} & TOO_MUCH
    assert {name for name in names - standard if not name.startswith(WATCH_ROOM)} <= MAY_IMPORT


def cpu_s(command: list[str]) -> float:
    """CPU time of a command and of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_it_starts_at_once() -> None:
    """The CPU time of all of it, the guard and the end included, in starts of a Python that imports asyncio.

    The least of five, since others share the caches; in turns, since machines differ by half from minute to minute.
    """
    commands = [*WATCH, "--", "true"], [sys.executable, "-c", "import asyncio"]
    watching, asyncio = (
        min(times) for times in zip(*([cpu_s(one) for one in commands] for _ in range(5)), strict=True)
    )
    assert watching < STARTS * asyncio


@pytest.fixture(scope="module")
def small(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with beyond-ram as `pip install` makes it, without an extra."""
    folder = tmp_path_factory.mktemp("small") / "venv"
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    command = ["uv", "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), str(root)]
    subprocess.run(command, check=True)
    return folder


@pytest.mark.slow
def test_it_installs_alone_and_watches(small: Path) -> None:
    distributions = {path.name.partition("-")[0] for path in small.rglob("*.dist-info")}
    assert distributions == {"beyond_ram"}
    done = subprocess.run([small / "bin" / "beyond-ram", "watch", "--", "sleep", "0.1"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "ask for" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_without_an_extra_it_names_its_version_and_commands(small: Path, option: str) -> None:
    subprocess.run([small / "bin" / "beyond-ram", option], capture_output=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["compare", "a", "b"], "workflow"),
        (["stack", "diff", "a", "b"], "workflow"),
        (["gate", "--baseline", "a==1", "--candidate", "a==2"], "workflow"),
        (["fit", "--budget", "1G", "--vary", "n=1,2", "--", "true", "{n}"], "fit"),
    ],
)
def test_a_command_whose_extra_is_missing_names_it(small: Path, words: list[str], extra: str, tmp_path: Path) -> None:
    done = subprocess.run([small / "bin" / "beyond-ram", *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(
        rf"beyond-ram {words[0]}: needs \w+, which is not installed: pip install '[A-Z/]+/beyond-ram\[{extra}\]'.*\n",
        done.stderr,
    )
    assert not list(tmp_path.iterdir())


def test_every_command_is_listed() -> None:
    from beyond_ram.cli import COMMANDS

    listing = subprocess.run([sys.executable, "-m", "beyond_ram", "--help"], capture_output=True, text=True, check=True)
    assert set(re.findall(r"^    (\w+) ", listing.stdout, re.M)) == set(COMMANDS)
