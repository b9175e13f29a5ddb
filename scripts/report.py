"""Write the report: one page, from all tables, figures and runs."""

from pathlib import Path

from beyond_ram.analysis.findings import findings
from beyond_ram.files import write
from beyond_ram.records import tables
from beyond_ram.records.collected import Runs, Samples
from beyond_ram.report.workflow import Again, Drawn, in_brief, report
from beyond_ram.workflow import logs


def main(snakemake):
    params = snakemake.params
    figures = [Drawn(Path(svg), *described) for svg, described in zip(snakemake.input.svg, params.figures, strict=True)]
    tables_by_name = {Path(path).stem: tables.read(path) for path in snakemake.input.tables}
    all_findings = findings(tables_by_name)
    report(
        page := Path(snakemake.output.page),
        tables_by_name,
        all_findings,
        figures,
        runs := Runs(snakemake.input.runs),
        Samples(snakemake.input.samples, runs),
        params.left_out,
        Again(params.configfiles, params.folder, params.budget_min),
    )
    brief = in_brief(tables_by_name, figures, all_findings, page)
    write(snakemake.output.brief, "\n".join([*brief, ""]))


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
