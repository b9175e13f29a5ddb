"""Spark: a repository read, written back and appended to by its data source for the Hub.

Needs: repositories, runs, Java. Makes: table `spark`, a figure. Always holds: a step that does not work is recorded with its
reason; without Java nothing is run, and that is the reason.
"""


rule spark_table:
    input:
        runs=run_jsons(*CONFIG.named("spark")),
    output:
        table("spark"),
    log:
        f"{RESULTS}/logs/tables/spark.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/spark.py"


rule spark_figure:
    input:
        spark=f"{TABLES}/spark.parquet",
    output:
        **figure("spark", "Streaming", "What Spark can do with a Hub"),
    log:
        f"{RESULTS}/logs/figures/spark.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/spark.py"


TABLE_NAMES += ["spark"]


rule spark:
    input:
        rules.spark_table.output,
        rules.spark_figure.output,
