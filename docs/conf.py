"""The site of these pages: `uv run --group docs sphinx-build -W docs site`."""

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
project = _PROJECT["name"]
version = release = _PROJECT["version"]
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"{project} {version}"
exclude_patterns = ["images/**", "measured/**"]
highlight_language = "sh"  # of indented code: commands
# Headings are linked to from other pages.
myst_heading_anchors = 4
