"""The page of choices: for each data, order, memory and number of workers, the loaders that no other beats."""

from beyond_ram import logs, pages, tables
from beyond_ram.analysis.frame import describe, same_but_for, varied
from beyond_ram.analysis.loaders import OF_A_LOADER, by_way
from beyond_ram.figures import MB, loader_kind


def number(value, form="{:,.0f}"):
    return form.format(value) if value == value else ""


def why(line):
    """What it was chosen for, of how many, and what of it is shown."""
    others = f"{line['of_loaders'] - 1:.0f}"
    unranked = f"; {line['without_rate']:.0f} without a rate" if line["without_rate"] else ""
    return (
        f"{line['chosen_for']} of {line['of_loaders']:.0f} ({line['ranked_by']}{unranked}); shown to be faster than "
        f"{line['faster_than']:.0f} of {others}, leaner than {line['leaner_than']:.0f}"
    )


def groups(choices):
    """Title and lines of each front."""
    choices = by_way(choices)
    said = [axis for axis in varied(choices) if axis not in ("experiment", *OF_A_LOADER)]
    for found, group in same_but_for(choices, *OF_A_LOADER):
        title = ", ".join([found["tokens"], *describe(found, (axis for axis in said if axis != "tokens"))])
        yield (
            title,
            [
                {
                    "loader": line["loader"],
                    "kind": loader_kind(line["loader_kind"])[0],
                    "shuffle": line["shuffle"] if found["order"] == "shuffled" else "",
                    "lends": line["lends"] if line["lends"] == line["lends"] else "",
                    "rows": number(line["rows_per_cpu_s"]),
                    "warm": number(line["rows_per_cpu_s_warm"]),
                    "share": number(line["share_of_limit"], "{:.0%}"),
                    "held": number(line["held_bytes"] / MB),
                    "pss": number(line["end_pss_bytes"] / MB),
                    "n": f"{line['n']:.0f} of {line['asked']:.0f}",
                    "why": why(line),
                }
                for line in group.to_dict("records")
            ],
        )


def main(snakemake):
    choices = tables.read(snakemake.input.table)
    pages.write(snakemake.input.template, snakemake.output[0], groups=list(groups(choices)) if len(choices) else [])


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
