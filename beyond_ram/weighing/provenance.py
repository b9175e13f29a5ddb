"""Where a result comes from: the project's commit and the lock of the stack."""

import hashlib
import subprocess
from pathlib import Path


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


def lock_sha256(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def lock_provenance(lock: Path) -> dict[str, str]:
    return {"stack": lock.stem, "lock_sha256": lock_sha256(lock)}
