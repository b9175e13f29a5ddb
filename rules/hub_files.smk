"""Files of a Hub under other libraries: tars by WebDataset, frames of a video by PyAV, through HfFileSystem.

Needs: repositories, runs. Makes: table `hub_files`, a figure. Always holds: every sample carries its number, and a run
that got a wrong one has failed.
"""

OPENED = CONFIG.named("hub-files")


rule hub_files_table:
    input:
        runs=run_jsons(*OPENED),
    output:
        table("hub_files"),
    log:
        f"{RESULTS}/logs/tables/hub_files.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/hub_files.py"


rule hub_files_figure:
    input:
        hub_files=f"{TABLES}/hub_files.parquet",
    output:
        **figure("hub_files", "Streaming", "What a sample out of a Hub's file costs"),
    log:
        f"{RESULTS}/logs/figures/hub_files.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/hub_files.py"


TABLE_NAMES += ["hub_files"]


rule hub_files:
    input:
        rules.hub_files_table.output,
        rules.hub_files_figure.output,
