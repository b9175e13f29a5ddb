"""Tables, figures and targets of every chapter, with one rule for each.

Needs: collected runs, the chapters. Makes: tables/NAME, figures/NAME, and a target per part. Always holds: the inputs
of a table or figure are the parameters of its function; the digest of all code that makes it is a parameter of the job.
"""

# Its runs are no cells of an experiment.
WITH_OWN_RULE = ["ladders"]


# Passes the requested parts to the jobs of a call.
PARTS = "BEYOND_RAM_PARTS"


def parts():
    """The parts that were requested as targets; none for everything. Known when jobs are planned, not before."""
    if workflow.is_main_process:
        targets = workflow.dag_settings.targets
        requested = [] if "all" in targets else sorted({*targets} & {*OUTPUTS.parts()})
        os.environ[PARTS] = ",".join(requested)
    return [part for part in os.environ.get(PARTS, "").split(",") if part]


def targets(parts):
    """Every table and figure of some parts, or of all."""
    names = OUTPUTS.tables(parts, general=not parts)
    made = [path for name in names for path in table(name)]
    made += [f"{FIGURES}/{name}.{ending}" for name in OUTPUTS.figures(parts) for ending in ("svg", "png")]
    return made


def made_from(kind, name):
    """The inputs of a table or figure: the runs of its chapter's experiments, and tables."""
    needs, tables = OUTPUTS.needs(kind, name), OUTPUTS.tables(parts())
    files = {need: f"{TABLES}/{need}.parquet" for need in needs if need in tables}
    experiments = OUTPUTS.experiments_of(OUTPUTS.of(kind, name), parts())
    # Every table counts the runs behind its lines.
    if kind == "table" or {*needs} & {*chapters.RUNS}:
        files["collected"] = [f"{COLLECTED}/{name}.runs.parquet" for name in experiments]
    if "samples" in needs:
        files["samples"] = [f"{COLLECTED}/{name}.samples.parquet" for name in experiments]
    if "locks" in needs:
        files["locks"] = locks_of_pairs()
    if "session_spread" in needs:
        files["session_spread"] = chapters.SHIPPED_SPREAD
    return files


def code_of_output(kind, name):
    """The digest of the code that makes a table or figure, and of the project's files that it reads."""
    needs, others = OUTPUTS.needs(kind, name), []
    others += locks_of_pairs() if "locks" in needs else []
    others += [chapters.SHIPPED_SPREAD] if "session_spread" in needs else []
    return code_of(chapters.source(kind, name), others=others)


def figure(name):
    """The outputs of a figure: SVG for the report, PNG, and its caption."""
    return {kind: f"{FIGURES}/{name}.{ending}" for kind, ending in chapters.FILES_OF_FIGURE.items()}


def figures_of_report():
    """Title, chapter, experiments and question of each figure."""
    made = {name: (title, OUTPUTS.of("figure", name)) for name, title in OUTPUTS.figures(parts()).items()}
    return [
        (title, chapter.title, OUTPUTS.experiments_of(chapter, parts()), chapter.figures[name].question)
        for name, (title, chapter) in made.items()
    ]


def runs_of_report():
    """The collected runs of table `runs`."""
    names = OUTPUTS.experiments_of(OUTPUTS.of("table", "runs"), parts())
    return {kind: made([f"{COLLECTED}/{name}.{kind}.parquet" for name in names]) for kind in ("runs", "samples")}


for chapter in OUTPUTS.chapters:
    for name in chapter.tables:
        if name in WITH_OWN_RULE:
            continue

        rule:
            name:
                f"table_{name}"
            input:
                unpack(lambda w, name=name: made_from("table", name)),
            output:
                table(name),
            log:
                f"{RESULTS}/logs/tables/{name}.log",
            conda:
                "../envs/driver.yaml"
            params:
                name=name,
                code=lambda w, name=name: code_of_output("table", name),
                needs=OUTPUTS.needs("table", name),
                pairs=PAIRS,
                questions=QUESTIONS,
            script:
                "../scripts/table.py"


for chapter in OUTPUTS.chapters:
    for name in chapter.figures:

        rule:
            name:
                f"figure_{name}"
            input:
                unpack(lambda w, name=name: made_from("figure", name)),
                script=chapters.source("figure", name),
            output:
                **figure(name),
            log:
                f"{RESULTS}/logs/figures/{name}.log",
            conda:
                "../envs/driver.yaml"
            params:
                code=lambda w, name=name: code_of_output("figure", name),
                needs=OUTPUTS.needs("figure", name),
                pairs=PAIRS,
                questions=QUESTIONS,
            script:
                "../scripts/figure.py"


for part in OUTPUTS.parts():

    rule:
        name:
            part
        input:
            lambda w, part=part: targets([part]),


# For the message about an unknown one.
for chapter in OUTPUTS.chapters:
    terminal.TARGETS.update((name, f"table_{name}") for name in chapter.tables if name not in WITH_OWN_RULE)
    terminal.TARGETS.update((name, f"figure_{name}") for name in chapter.figures)
terminal.TARGETS.update((name, name) for name in ("all", "report", "tokenise", *OUTPUTS.parts()))
