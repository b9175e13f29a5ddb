"""The table of all runs, the overview, the findings, and the report.

Needs: every run, table and figure. Makes: table `runs`, overview.html, findings.html, report.html. Always holds: all pages
open from a file, without a network, and the overview and the report hold every figure with its caption.
"""


rule runs:
    input:
        runs=run_jsons(*CONFIG.experiments),
    output:
        table("runs"),
    log:
        f"{RESULTS}/logs/tables/runs.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/runs.py"


rule overview:
    input:
        runs=f"{TABLES}/runs.parquet",
        svg=[f"{FIGURES}/{name}.svg" for name in FIGURE_TITLES],
        captions=[f"{FIGURES}/{name}.rst" for name in FIGURE_TITLES],
        template="report/overview.html.jinja",
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
        titles=list(FIGURE_TITLES.values()),
    script:
        "../scripts/overview.py"


rule findings:
    input:
        tables=[f"{TABLES}/{name}.parquet" for name in TABLE_NAMES],
        svg=[f"{FIGURES}/{name}.svg" for name in FIGURE_TITLES],
        template="report/findings.html.jinja",
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
        pairs=PAIRS,
        # Those that were given by hand: config.yaml comes by itself.
        configfiles=lambda w: [
            os.path.relpath(file)
            for file in workflow.configfiles
            if os.path.abspath(file) != os.path.join(workflow.basedir, "config.yaml")
        ],
    script:
        "../scripts/findings.py"


rule figures:
    input:
        rules.overview.output,
        rules.findings.output,
        rules.choice_table.output,
        rules.claims_page.output,
        [f"{FIGURES}/{name}.svg" for name in FIGURE_TITLES],


rule report:
    input:
        rules.figures.input,
        [
            f"{TABLES}/{name}.{ending}"
            for name in TABLE_NAMES
            for ending in ("csv", "parquet")
        ],
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/driver.yaml"
    params:
        config=lambda w: json.dumps(config, sort_keys=True),
    shell:
        "merged=$(mktemp --suffix .json); trap 'rm -f $merged' EXIT; printf %s {params.config:q} > $merged; "
        "snakemake --nolock --cores 1 --configfile $merged --report {output} figures > {log} 2>&1"
