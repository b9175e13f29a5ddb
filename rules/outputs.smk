"""Tables, figures and targets of every chapter: one rule each, of one shape.

Needs: the chapters. Makes: tables/NAME, figures/NAME, and a target per part. Always holds: what a table or figure is made
from is what its function asks for, and all code that makes it is its input.
"""

# The table of the sweeps over versions is made from runs that are known only on the way.
WITH_OWN_RULE = ["ladders"]

for chapter in OUTPUTS.chapters:
    for name in chapter.tables:
        if name in WITH_OWN_RULE:
            continue

        rule:
            name:
                f"table_{name}"
            input:
                unpack(lambda w, name=name: made_from("table", name)),
                code=code_of("table", name),
            output:
                table(name),
            log:
                f"{RESULTS}/logs/tables/{name}.log",
            conda:
                "../envs/driver.yaml"
            params:
                name=name,
                needs=OUTPUTS.needs("table", name),
                pairs=PAIRS,
                claimed=CLAIMED,
            script:
                "../scripts/table.py"


for chapter in OUTPUTS.chapters:
    for name in chapter.figures:

        rule:
            name:
                f"figure_{name}"
            input:
                unpack(lambda w, name=name: made_from("figure", name)),
                script=outputs.source("figure", name),
                code=code_of("figure", name),
            output:
                **figure(name),
            log:
                f"{RESULTS}/logs/figures/{name}.log",
            conda:
                "../envs/driver.yaml"
            params:
                needs=OUTPUTS.needs("figure", name),
                pairs=PAIRS,
                claimed=CLAIMED,
            script:
                "../scripts/figure.py"


for part in OUTPUTS.parts():

    rule:
        name:
            part
        input:
            lambda w, part=part: targets([part]),
