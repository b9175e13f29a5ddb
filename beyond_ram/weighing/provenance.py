"""Where a result comes from: the project's commit."""

import subprocess


def commit() -> str | None:
    """The commit of the working tree, with `-dirty` where tracked files differ; None outside a repository."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
