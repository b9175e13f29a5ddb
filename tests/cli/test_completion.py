"""`beyond-ram completion`: a shell completes commands, their options and actions."""

import shutil
import subprocess

import pytest

from beyond_ram import cli


@pytest.fixture
def script(capsys, request):
    assert cli.main(["completion", request.param]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("beyond-ram wa", {"watch"}),
        ("beyond-ram watch --memory", {"--memory-limit"}),
        ("beyond-ram stack upg", {"upgrade"}),
        ("beyond-ram atlas --li", {"--library"}),
        ("beyond-ram show ru", set()),
        ("beyond-ram watch -- python --memory", set()),
    ],
)
def test_bash_completes(script, line, expected):
    words = line.split()
    call = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _beyond_ram; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", call], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected, done.stderr


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_script_is_one_that_zsh_reads(script):
    assert "watch" in script and "--memory-limit" in script
    if shutil.which("zsh"):
        subprocess.run(["zsh", "-n", "-c", script], check=True)
