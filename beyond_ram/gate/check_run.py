"""A check of the commit that says neutral, neither passed nor failed: `python -m beyond_ram.gate.check_run DIR`.

For the GitHub Action, where a gate is undecided. Standard library only. Ends with 1 and a line where the check cannot
be made, as where the token may not write checks.
"""

import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

_MOST = 60_000  # characters of a summary: GitHub takes 65,535


def made(folder: Path, environment: Mapping[str, str]) -> None:
    """Make the check. Raises KeyError where a variable of the runner is missing, OSError where GitHub refuses."""
    text = (folder / "gate.md").read_text(encoding="utf-8")
    title = text.splitlines()[0].strip("*")
    body = {
        "name": "beyond-ram gate",
        "head_sha": environment["HEAD_SHA"],
        "status": "completed",
        "conclusion": "neutral",
        "output": {"title": title[:250], "summary": text[:_MOST]},
    }
    address = f"{environment['GITHUB_API_URL']}/repos/{environment['GITHUB_REPOSITORY']}/check-runs"
    headers = {"Authorization": f"Bearer {environment['TOKEN']}", "Accept": "application/vnd.github+json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=30):
        pass


if __name__ == "__main__":
    try:
        made(Path(sys.argv[1]), os.environ)
    except (KeyError, OSError) as error:
        print(f"no neutral check: {error}", file=sys.stderr)
        sys.exit(1)
