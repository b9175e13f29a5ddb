"""The page of findings: a paragraph, a figure and a command for each, strongest first."""

import base64
from pathlib import Path

import jinja2

from beyond_ram import logs, tables
from beyond_ram.analysis.findings import findings


def command(finding, configfiles):
    """What makes the figure of a finding alone, from its experiment's runs only, in a results folder of its own."""
    own = f" --configfile {' '.join(configfiles)}" if configfiles else ""
    only = f"--config results=alone 'only=[{finding.experiment}]'"
    return f"uv run snakemake alone/figures/{finding.figure}.svg --cores 4{own} {only}"


def main(snakemake):
    found = findings({Path(path).stem: tables.read(path) for path in snakemake.input.tables})
    figures = {Path(path).stem: base64.b64encode(Path(path).read_bytes()).decode() for path in snakemake.input.svg}
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(Path(snakemake.input.template).read_text(encoding="utf-8"))
    page = template.render(
        findings=[(finding, command(finding, snakemake.params.configfiles)) for finding in found], figures=figures
    )
    partial = Path(snakemake.output[0]).with_suffix(".partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(snakemake.output[0])


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
