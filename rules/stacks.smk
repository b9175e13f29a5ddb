"""Stacks: an environment from each lock.

Needs: envs/NAME.txt. Makes: .stacks/NAME. Always holds: the environment is exactly its lock, and its marker is
written last.
"""


rule stack:
    input:
        lock=lambda w: lock_to_build(w.stack),
    output:
        marker=".stacks/{stack}/beyond-ram.lock",
    log:
        f"{RESULTS}/logs/stacks/{{stack}}.log",
    priority: BEFORE_RUNS
    conda:
        "../envs/driver.yaml"
    params:
        folder=lambda w, output: os.path.dirname(output.marker),
    shell:
        "beyond-ram stack build {input.lock:q} {params.folder:q} 2> {log:q}"
