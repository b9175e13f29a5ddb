"""The project folder of the commands, wherever they are called."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def project() -> Path:
    """The folder of the project. Raises ValueError if beyond-ram does not run from a checkout."""
    if not (PROJECT / "Snakefile").is_file():
        raise ValueError(f"{PROJECT} has no Snakefile: install beyond-ram from its checkout, with `uv sync`")
    return PROJECT
