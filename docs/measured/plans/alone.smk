# Snakemake alone, with as many jobs as config/scale.yaml, and inputs, outputs, parameters and resources like them.
EPOCHS = range(1, int(config.get("epochs", 50)) + 1)
CELLS = [f"stack~{s}/corpus~c/epochs~{e}/value~{v}/rep~1" for s in "abcde" for e in EPOCHS for v in range(1, 41)]
RUN = "stack~{s}/corpus~{c}/epochs~{e}/value~{v}/rep~{rep}"


rule all:
    input:
        expand("results/runs/{cell}/run.json", cell=CELLS),


rule stack:
    output:
        "made/stacks/{s}.lock",
    shell:
        "touch {output}"


rule corpus:
    output:
        "made/corpora/{c}/manifest.json",
    shell:
        "touch {output}"


rule tokenizer:
    output:
        "made/tokenizers/{c}/done",
    shell:
        "touch {output}"


rule measure:
    input:
        stack="made/stacks/{s}.lock",
        reads=["made/corpora/{c}/manifest.json", "made/tokenizers/{c}/done"],
    output:
        multiext(f"results/runs/{RUN}/", "samples.csv", "events.jsonl", "run.json"),
    log:
        f"results/logs/{RUN}.log",
    priority: lambda w: int(w.e) * 40 + int(w.v)
    params:
        command=lambda w: ["python", "program.py", w.e, w.v, '{"path": "scale/stack~a", "workload": "soak", "reads": []}'],
    resources:
        mem_mb=lambda w, attempt: 500 * attempt,
        runtime=10,
    retries: 2
    shell:
        "{params.command:q} 2> {log:q}"
