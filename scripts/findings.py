"""The page of findings: a paragraph, a figure and a command for each, strongest first."""

import base64
import shlex
from pathlib import Path

import pandas as pd

from beyond_ram import logs, pages, tables
from beyond_ram.analysis.findings import PAIRS, findings
from beyond_ram.figures import NOT_DRAWN


def command(finding, configfiles, folder):
    """What makes the figure of a finding alone, from its experiment's runs only, in a results folder of its own."""
    own = f" --configfile {shlex.join(configfiles)}" if configfiles else ""
    only = f"--config results=alone 'only=[{finding.experiment}]'" + (
        f" folder={shlex.quote(folder)}" if folder else ""
    )
    return f"uv run snakemake alone/figures/{finding.figure}.svg --cores 4{own} {only}"


def not_empty(svg):
    """Whether a figure shows something."""
    return not pages.caption(svg.with_suffix(".rst")).striptags().startswith(NOT_DRAWN)


def main(snakemake):
    given = {Path(path).stem: tables.read(path) for path in snakemake.input.tables}
    found = findings(given | {PAIRS: pd.DataFrame(snakemake.params.pairs, columns=["baseline", "candidate"])})
    drawn = [path for path in map(Path, snakemake.input.svg) if not_empty(path)]
    figures = {path.stem: base64.b64encode(path.read_bytes()).decode() for path in drawn}
    pages.write(
        snakemake.input.template,
        snakemake.output[0],
        findings=[
            (finding, command(finding, snakemake.params.configfiles, snakemake.params.folder)) for finding in found
        ],
        figures=figures,
    )


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
