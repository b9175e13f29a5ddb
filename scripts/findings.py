"""The page of findings: a paragraph, a figure and a command for each, strongest first."""

import base64
from pathlib import Path

import pandas as pd

from beyond_ram import logs, pages, tables
from beyond_ram.analysis.findings import PAIRS, findings


def command(finding, configfiles):
    """What makes the figure of a finding alone, from its experiment's runs only, in a results folder of its own."""
    own = f" --configfile {' '.join(configfiles)}" if configfiles else ""
    only = f"--config results=alone 'only=[{finding.experiment}]'"
    return f"uv run snakemake alone/figures/{finding.figure}.svg --cores 4{own} {only}"


def main(snakemake):
    given = {Path(path).stem: tables.read(path) for path in snakemake.input.tables}
    found = findings(given | {PAIRS: pd.DataFrame(snakemake.params.pairs, columns=["baseline", "candidate"])})
    figures = {Path(path).stem: base64.b64encode(Path(path).read_bytes()).decode() for path in snakemake.input.svg}
    pages.write(
        snakemake.input.template,
        snakemake.output[0],
        findings=[(finding, command(finding, snakemake.params.configfiles)) for finding in found],
        figures=figures,
    )


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
