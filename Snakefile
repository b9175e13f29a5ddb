"""beyond-ram: what larger-than-RAM data pipelines cost in memory, and why. The chapters are in rules/."""

from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/cells.smk"
include: "rules/stacks.smk"
include: "rules/corpora.smk"
include: "rules/measure.smk"
include: "rules/tokenize.smk"
include: "rules/own_files.smk"
include: "rules/explain.smk"
include: "rules/load.smk"
include: "rules/limit.smk"
include: "rules/stream.smk"
include: "rules/scripts.smk"
include: "rules/ladders.smk"
include: "rules/further.smk"
include: "rules/compare.smk"
include: "rules/report.smk"
include: "rules/collect.smk"
include: "rules/outputs.smk"


rule all:
    default_target: True
    input:
        rules.report.output if CONFIG.run() else rules.tokenise.output,
