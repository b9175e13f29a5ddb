"""The page of choices: for each data, order, memory and number of workers, the loaders that no other beats."""

from beyond_ram import logs, pages, tables
from beyond_ram.figures import MB, loader_kind

KEYS = ["experiment", "tokens", "order", "workers", "page_cache", "limit_percent"]


def groups(choices):
    """Title and lines of each front."""
    for keys, group in choices.groupby(KEYS, sort=False):
        found = dict(zip(KEYS, keys, strict=True))
        title = f"{found['tokens']}, {found['order']}, {found['workers']:.0f} workers, {found['page_cache']} page cache"
        if found["limit_percent"]:
            title += f", memory limit of {found['limit_percent']:.0f} % of the data"
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
                    "n": f"{line['n']:.0f}",
                    "why": f"{line['why']} of {line['of_loaders']:.0f}",
                }
                for line in group.to_dict("records")
            ],
        )


def main(snakemake):
    choices = tables.read(snakemake.input.choices)
    pages.write(snakemake.input.template, snakemake.output[0], groups=list(groups(choices)) if len(choices) else [])


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
