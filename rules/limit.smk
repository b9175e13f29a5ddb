"""The smallest memory limit: of the experiments that ask for it.

Needs: runs, a memory cgroup. Makes: table `limits`, a figure. Always holds: a limit is the kernel's, or it is not run.
"""

LIMITED = [name for name, found in CONFIG.run().items() if found.find_limit]


rule limits:
    input:
        runs=run_jsons(*LIMITED),
    output:
        table("limits"),
    log:
        f"{RESULTS}/logs/tables/limits.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/tables/limits.py"


rule smallest_limit:
    input:
        limits=f"{TABLES}/limits.parquet",
    output:
        **figure("smallest_limit", "Explanation", "How much memory it really needs"),
    log:
        f"{RESULTS}/logs/figures/smallest_limit.log",
    conda:
        "../envs/driver.yaml"
    script:
        "../scripts/figures/smallest_limit.py"


TABLE_NAMES += ["limits"]


rule limit:
    input:
        rules.limits.output,
        rules.smallest_limit.output,
