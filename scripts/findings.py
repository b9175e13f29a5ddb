"""The page of findings: a paragraph, a figure and a command for each, strongest first."""

import base64
import shlex
from pathlib import Path

from beyond_ram import logs, pages, tables
from beyond_ram.analysis.findings import findings
from beyond_ram.analysis.matters import SHARE
from beyond_ram.figures import NOT_DRAWN


def command(finding, params, stacks=()):
    """What makes the figure of a finding alone, or the findings where it has none, in a results folder of its own: from
    its experiment's runs only, of its stacks or of others."""
    own = f" --configfile {shlex.join(params.configfiles)}" if params.configfiles else ""
    only = f"--config results=alone 'only=[{finding.experiment}]'"
    if stacks:
        only += f" 'experiments={{{finding.experiment}: {{matrix: {{stack: [{', '.join(stacks)}]}}}}}}'"
    if params.folder:
        only += f" folder={shlex.quote(params.folder)}"
    made = f"figures/{finding.figure}.svg" if finding.figure else "findings.html"
    return f"uv run snakemake alone/{made} --cores 4{own} {only}"


def kept(finding, params, given):
    """The stacks whose runs of a finding's experiment are kept from older locks, each with what weighs that lock too;
    None where the lock is not there."""
    named = [table for table in given.values() if {"experiment", "stack"} <= {*table}]
    found = {stack for table in named for stack in table.loc[table["experiment"] == finding.experiment, "stack"]}
    todays = sorted(stack for stack in found if "@" not in stack and "+" not in stack)
    for old in sorted(stack for stack in found if "@" in stack):
        again, stack = None, old.replace("@", "-")
        if lock := params.locks.get(old):
            again = f"cp envs/{old.partition('@')[0]}.in envs/{stack}.in && cp {shlex.quote(lock)} envs/{stack}.txt && "
            again += command(finding, params, [*todays, stack])
        yield old, again


def not_empty(svg):
    """Whether a figure shows something."""
    return not pages.caption(svg.with_suffix(".rst")).striptags().startswith(NOT_DRAWN)


def main(snakemake):
    given = {Path(path).stem: tables.read(path) for path in snakemake.input.tables}
    params = snakemake.params
    found = findings(given)

    def told(finding):
        return finding, command(finding, params), list(kept(finding, params, given))

    drawn = [path for path in map(Path, snakemake.input.svg) if not_empty(path)]
    figures = {path.stem: base64.b64encode(path.read_bytes()).decode() for path in drawn}
    pages.write(
        snakemake.input.template,
        snakemake.output[0],
        findings=[told(finding) for finding in found if not finding.small],
        smaller=[told(finding) for finding in found if finding.small],
        share=f"{SHARE:.0%}",
        figures=figures,
    )


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
