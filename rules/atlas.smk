"""What each recent release of the data stack's libraries costs in the cases of `cases/atlas`.

Needs: the package index. Makes: the folder `atlas` of the results, with its tables and page. Always holds: asked for by
name, no part of `all`; the command goes on from what it has run, so the job runs each time and measures what is new.
"""


rule atlas:
    log:
        f"{RESULTS}/logs/atlas.log",
    conda:
        DRIVER_ENV
    resources:
        slots=ALL_SLOTS,
    params:
        out=f"{RESULTS}/atlas",
    shell:
        "beyond-ram atlas --out {params.out:q} 2> {log:q}"
