"""The table of all runs, the pages, and the report: of everything, or of the parts that are asked for beside it.

Needs: tables and figures. Makes: tables `runs`, `comparisons` and `stack_differences`, overview.html, findings.html, choices.html, claims.html, report.html. Always
holds: all pages open from a file, without a network, and hold what was run and nothing else.
"""

OUTPUTS.add(
    outputs.GENERAL,
    "Overview",
    covers=lambda _: False,
    over=lambda _: True,
    tables=["runs", "comparisons", "stack_differences"],
)


rule overview:
    input:
        runs=f"{TABLES}/runs.parquet",
        svg=lambda w: [f"{FIGURES}/{name}.svg" for name in OUTPUTS.figures(parts())],
        captions=lambda w: [f"{FIGURES}/{name}.rst" for name in OUTPUTS.figures(parts())],
        template="report/overview.html.jinja",
        code=closure("scripts/overview.py", workflow.basedir),
    output:
        report(
            f"{RESULTS}/overview.html",
            category="Overview",
            labels={"page": "every figure with its caption"},
        ),
    log:
        f"{RESULTS}/logs/overview.log",
    conda:
        "../envs/driver.yaml"
    params:
        titles=lambda w: list(OUTPUTS.figures(parts()).values()),
        left_out=lambda w: OUTPUTS.left_out(parts()),
    script:
        "../scripts/overview.py"


rule findings:
    input:
        tables=lambda w: [f"{TABLES}/{name}.parquet" for name in OUTPUTS.tables(parts())],
        svg=lambda w: [f"{FIGURES}/{name}.svg" for name in OUTPUTS.figures(parts())],
        template="report/findings.html.jinja",
        code=closure("scripts/findings.py", workflow.basedir),
    output:
        report(
            f"{RESULTS}/findings.html",
            category="Findings",
            labels={"page": "what the tables show, strongest first"},
        ),
    log:
        f"{RESULTS}/logs/findings.log",
    conda:
        "../envs/driver.yaml"
    params:
        folder=CONFIG.folder,
        locks=experiment.kept.locks(RESULTS),
        # Those that were given by hand: config.yaml comes by itself.
        configfiles=lambda w: [
            os.path.relpath(file)
            for file in workflow.configfiles
            if os.path.abspath(file) != os.path.join(workflow.basedir, "config.yaml")
        ],
    script:
        "../scripts/findings.py"


rule pages:
    input:
        rules.overview.output,
        rules.findings.output,
        lambda w: targets(parts()),


rule report:
    input:
        rules.pages.input,
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/driver.yaml"
    params:
        content=lambda w: json.dumps(config, sort_keys=True),
        merged=f"{SPECS}/config.json",
        parts=lambda w: parts(),
    shell:
        "snakemake --nolock --cores 1 --configfile {params.merged:q} --report {output:q} pages {params.parts:q} "
        "> {log:q} 2>&1"
