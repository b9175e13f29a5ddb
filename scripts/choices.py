"""The page of choices: for each data, order, memory and number of workers, the loaders that no other beats."""

from beyond_ram import logs, pages, tables
from beyond_ram.analysis.frame import describe, same_but_for, varied
from beyond_ram.analysis.loaders import OF_A_LOADER, by_way
from beyond_ram.figures import MB, loader_kind


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
                    "rows": f"{line['rows_per_cpu_s']:,.0f}",
                    "share": ""
                    if line["share_of_limit"] != line["share_of_limit"]
                    else f"{line['share_of_limit']:.0%}",
                    "pss": f"{line['end_pss_bytes'] / MB:,.0f}",
                    "n": f"{line['n']:.0f} of {line['asked']:.0f}",
                    "chosen_for": f"{line['chosen_for']} of {line['of_loaders']:.0f}",
                }
                for line in group.to_dict("records")
            ],
        )


def main(snakemake):
    choices = tables.read(snakemake.input.table)
    pages.write(snakemake.input.template, snakemake.output[0], groups=list(groups(choices)) if len(choices) else [])


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
