"""A user's own files, turned into ids by `beyond-ram tokenize`: one job per shard, on one machine or on many.

Needs: section `tokenise` of the config, the stacks that encode. Makes: the folder `out` of that section; tokenise/, with
copies of the command's records. Always holds: asked for by name; the folder is no output of a rule, so a failed job leaves
it; a copy has the question that it answers, and what is not as copied is planned.
"""

# Only the request grows with the attempt: the kernel also counts page tables and unwritten pages of files.
MEMORY = {
    "mem_mb": lambda w, attempt: (own_files().memory_limit_mb + job_memory.DRIVER_MB) * attempt,
    "anon_mb": lambda w: own_files().memory_limit_mb,
}
ENCODE = (
    "beyond-ram tokenize {params.options:q} --workers={threads:q} --memory-limit={resources.anon_mb:q}MB "
    "--shard={params.shard:q} -- {params.inputs:q}"
)
COPY = "echo {params.question:q} | cat - {params.record:q}"


rule tokenise_shard:
    input:
        lambda w: [f".stacks/{name}/beyond-ram.lock" for name in stacks_of_ids()],
    output:
        f"{OWN_IDS}/shard-{{shard}}.record",
    log:
        f"{RESULTS}/logs/tokenise/shard-{{shard}}.log",
    wildcard_constraints:
        shard="[0-9]+",
    conda:
        DRIVER_ENV
    threads: lambda w: own_files().workers
    resources:
        **MEMORY,
    params:
        options=lambda w: own_files().options(),
        shard=lambda w: f"{w.shard}/{own_files().shards}",
        inputs=lambda w: own_files().inputs,
        record=lambda w: record_of_shard(w.shard),
        question=lambda w: question_of_ids(),
    shell:
        f"{ENCODE} > {{log:q}} 2>&1 && {COPY} > {{output:q}}"


# The last shard once more: the command reads all files of the result, compares them with its records, and joins them.
rule tokenise:
    input:
        lambda w: copies_of_records(),
    output:
        record=f"{OWN_IDS}/summary.record",
        brief=f"{OWN_IDS}/summary.txt",
    log:
        f"{RESULTS}/logs/tokenise/summary.log",
    conda:
        DRIVER_ENV
    threads: lambda w: own_files().workers
    resources:
        **MEMORY,
    params:
        options=lambda w: own_files().options(joining=True),
        shard=lambda w: f"{own_files().shards}/{own_files().shards}",
        inputs=lambda w: own_files().inputs,
        record=lambda w: f"{own_files().out}/summary.json",
        question=lambda w: question_of_ids(),
    shell:
        f"{ENCODE} > {{output.brief:q}} 2> {{log:q}} && {COPY} > {{output.record:q}}"
