"""Write the page of a table from its template in report/, by the page's name."""

from beyond_ram import logs, pages, tables
from beyond_ram.analysis import changes as changed
from beyond_ram.analysis import stack_differences as differ
from beyond_ram.report import sections


def changes(table, stack_differences):
    """Changes from baseline to candidate, worst first, and other differences."""
    pairs = table[["before", "after"]].itertuples(index=False, name=None)
    lines, differences = changed.in_words(table), differ.in_words(stack_differences, pairs)
    return {"lines": lines, "summary": changed.counts(table), "differences": differences}


def pareto(table, loaders):
    """For each data, order, memory and number of workers, the loaders that no other beats."""
    return {"groups": list(sections.pareto(table)), "unranked": sections.unranked(loaders, table)}


def main(snakemake):
    arguments = {name: tables.read(snakemake.input[name]) for name in ("table", *snakemake.params.tables)}
    values = {page.__name__: page for page in (changes, pareto)}[snakemake.params.name](**arguments)
    pages.write(snakemake.input["template"], snakemake.output[0], **values)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
