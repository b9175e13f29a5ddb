"""Deduplication: how much of a table that was edited is new to Xet storage.

Needs: runs. Makes: table `dedup`, a figure. Always holds: new bytes are counted by hf_xet, against storage that holds
the table before the edit and nothing else.
"""

PUSHED = CONFIG.named("dedup")


rule dedup_table:
    input:
        runs=run_jsons(*PUSHED),
    output:
        table("dedup"),
    log:
        f"{RESULTS}/logs/tables/dedup.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/dedup.py"


rule dedup_figure:
    input:
        dedup=f"{TABLES}/dedup.parquet",
    output:
        **figure("dedup", "Streaming", "What an edit sends again"),
    log:
        f"{RESULTS}/logs/figures/dedup.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/dedup.py"


TABLE_NAMES += ["dedup"]


rule dedup:
    input:
        rules.dedup_table.output,
        rules.dedup_figure.output,
