"""The project folder of the commands, wherever they are called."""

from pathlib import Path

from ..shipped import CHECKOUT, IN_CHECKOUT


def project() -> Path:
    """The folder of the project. Raises ValueError if beyond-ram does not run from a checkout."""
    if not IN_CHECKOUT:
        raise ValueError("this needs the workflow, which is in a checkout of beyond-ram: call it there, by `uv run`")
    return CHECKOUT
