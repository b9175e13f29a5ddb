"""The table of all runs, and the report of everything, or of the parts that are requested with it.

Needs: runs, tables and figures. Makes: tables `runs`, `comparisons` and `stack_differences`, report.html,
summary.txt. Always holds: the report opens from a file without a network, and has only what was run.
"""

REPORT = f"{RESULTS}/report.html", f"{RESULTS}/summary.txt"


terminal.BRIEF.append(REPORT[1])


onsuccess:
    outdated.log_findings(workflow, REPORT[1])
    outdated.log_findings(workflow, f"{OWN_IDS}/summary.txt")
    outdated.clear(REPORT)
    outdated.log_name(REPORT)


onerror:
    outdated.log_name(REPORT)


OUTPUTS.add(
    chapters.GENERAL,
    "Overview",
    covers=lambda _: False,
    over=lambda _: True,
    tables={"runs": always, "comparisons": always, "stack_differences": compares},
)


rule report:
    input:
        unpack(lambda w: runs_of_report()),
        tables=lambda w: made([f"{TABLES}/{name}.parquet" for name in OUTPUTS.tables(parts())]),
        svg=lambda w: made([f"{FIGURES}/{name}.svg" for name in OUTPUTS.figures(parts())]),
        captions=lambda w: made([f"{FIGURES}/{name}.txt" for name in OUTPUTS.figures(parts())]),
        targets=lambda w: made(targets(parts())),
    output:
        page=REPORT[0],
        brief=REPORT[1],
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/driver.yaml"
    params:
        figures=lambda w: figures_of_report(),
        left_out=lambda w: OUTPUTS.left_out(parts()),
        code=lambda w: code_of(
            "scripts/report.py", others=[os.path.relpath(path, workflow.basedir) for path in page_sources()]
        ),
        folder=CONFIG.folder,
        budget_min=CONFIG.budget_min,
        # Config files of the command line; config.yaml is always read.
        configfiles=lambda w: [
            os.path.relpath(file)
            for file in workflow.configfiles
            if os.path.abspath(file) != os.path.join(workflow.basedir, "config.yaml")
        ],
    script:
        "../scripts/report.py"
