"""Every value in a command of a rule is quoted for the shell."""

import json
import os
import string
import subprocess

import pytest

pytestmark = pytest.mark.slow

LISTED = """
import json, sys
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.types import OutputSettings, Quietness, ResourceSettings

with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
    workflow = api.workflow(resource_settings=ResourceSettings(cores=1), snakefile=Path("Snakefile"))._workflow
    print(json.dumps({rule.name: rule.shellcmd for rule in workflow.rules if rule.shellcmd}))
"""


def test_every_placeholder_is_quoted(root, path, tmp_path):
    script = tmp_path / ".snakemake" / "scripts" / "listed.py"  # which is run as a fork (../forks)
    script.parent.mkdir(parents=True)
    script.write_text(LISTED)
    done = subprocess.run(
        ["python", script],
        env=os.environ | {"PATH": path, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    commands = json.loads(done.stdout.splitlines()[-1])
    assert len(commands) >= 10
    bare = [
        f"{name}: {{{field}}}"
        for name, command in commands.items()
        for _, field, how, _ in string.Formatter().parse(command)
        if field and how != "q"
    ]
    assert not bare, "quote it with :q"
    assert not [name for name, command in commands.items() if "$" in command or "`" in command], "the shell computes"
