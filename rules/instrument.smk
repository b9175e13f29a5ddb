"""Other tools, compared on programs of known memory.

Needs: the stack `profilers`, GNU time. Makes: table `comparison`, figure `comparison`. Always holds: it runs alone on
the machine, and only when it is requested by name.
"""


rule comparison:
    input:
        lock=lock_of("profilers"),
        environment=".stacks/profilers/beyond-ram.lock",
        program="scripts/comparison/compare.py",
        tools="scripts/comparison/tools.py",
    output:
        csv=f"{TABLES}/comparison.csv",
        parquet=f"{TABLES}/comparison.parquet",
    log:
        f"{RESULTS}/logs/tables/comparison.log",
    conda:
        "../envs/driver.yaml"
    resources:
        slots=ALL_SLOTS,
    shell:
        "python {input.program:q} --stack .stacks/profilers "
        "--csv {output.csv:q} --parquet {output.parquet:q} > {log:q} 2>&1"


rule comparison_figure:
    input:
        table=f"{TABLES}/comparison.parquet",
        program="scripts/comparison/errors.py",
    output:
        svg=f"{FIGURES}/comparison.svg",
        png=f"{FIGURES}/comparison.png",
        caption=f"{FIGURES}/comparison.rst",
    log:
        f"{RESULTS}/logs/figures/comparison.log",
    conda:
        "../envs/driver.yaml"
    shell:
        "python {input.program:q} --table {input.table:q} --svg {output.svg:q} --png {output.png:q} "
        "--caption {output.caption:q} > {log:q} 2>&1"


rule instrument:
    input:
        rules.comparison.output,
        rules.comparison_figure.output,
