"""Streaming: what it asks of an endpoint, of memory and of time; what an edited table sends again to Xet storage; files of
a Hub under WebDataset and PyAV, through HfFileSystem; Spark's data source for the Hub.

Needs: the stack `corpora`, runs, Java for Spark. Makes: repositories/NAME, tables `streaming`, `dedup`, `hub_files`, `spark`
and `claims`, claims.html, seven figures. Always holds: every row, sample and frame of a repository carries its number, and
each run has an endpoint of its own. New bytes are counted by hf_xet, against storage that holds the table before the edit
and nothing else. A step of Spark that does not work is recorded with its reason.
"""


wildcard_constraints:
    repository="|".join(map(re.escape, CONFIG.repositories)) or "-",


rule repository:
    input:
        lock=lambda w: lock_of(CONFIG.repositories[w.repository].STACK),
        environment=lambda w: environment_of(CONFIG.repositories[w.repository].STACK),
        program=lambda w: f"scripts/repositories/{CONFIG.repositories[w.repository].source}.py",
        code=lambda w: code_beside(f"scripts/repositories/{CONFIG.repositories[w.repository].source}.py"),
    output:
        manifest=f"{REPOSITORIES}/{{repository}}/manifest.json",
    log:
        f"{RESULTS}/logs/repositories/{{repository}}.log",
    priority: BEFORE_RUNS
    conda:
        lambda w: conda_of(CONFIG.repositories[w.repository].STACK)
    params:
        python=lambda w: python_of(CONFIG.repositories[w.repository].STACK),
        out=lambda w, output: os.path.dirname(output.manifest),
        spec=f"{SPECS}/repositories/{{repository}}.json",
        content=lambda w: CONFIG.repositories[w.repository].spec(),
    shell:
        "beyond-ram make --out {params.out:q} -- {params.python:q} {input.program:q} "
        "--name {wildcards.repository:q} --spec {params.spec:q} 2> {log:q}"


for workload, name, title in (
    ("dedup", "dedup", "What an edit sends again"),
    ("hub-files", "hub_files", "What a sample out of a Hub's file costs"),
    ("spark", "spark", "What Spark can do with a Hub"),
):
    OUTPUTS.add(
        "stream",
        "Streaming",
        covers=lambda found, workload=workload: found.workload == workload,
        tables=[name],
        figures={name: Figure(title)},
    )
OUTPUTS.add(
    "stream",
    "Streaming",
    covers=lambda found: found.workload == "stream",
    tables=["streaming"],
    figures={
        "requests_by_workers": Figure("What a Hub is asked"),
        "worker_memory": Figure("Memory of a process that streams"),
        "prefetch_gain": Figure(
            "What reading ahead gains",
            # Of one condition the ratio is in table `comparisons`.
            lambda found: (
                any(name != "default" for name in found.matrix.buffering)
                and varies("latency_ms", "bandwidth_mb_per_s")(found)
            ),
        ),
        "break_even": Figure("Streaming or a copy on disk", has("mode", "download")),
    },
)
OUTPUTS.add(
    "stream",
    "Streaming",
    covers=lambda found: found.workload in ("stream", "dedup", "hub-files", "spark"),
    tables=["claims"],
    pages={"claims": Page("claims and what was measured")},
)
