"""The table of all runs, and the report.

Needs: every run and figure. Makes: table `runs`, report.html. Always holds: the report opens from a file, without a
network, and holds every figure with its caption.
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


rule figures:
    input:
        TOKENIZE_FIGURES,


rule report:
    input:
        rules.runs.output,
        rules.tokenize_growth.output,
        rules.tokenize_shards.output,
        rules.figures.input,
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
