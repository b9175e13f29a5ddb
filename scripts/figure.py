"""A figure, by the function `plot` of its script in scripts/figures."""

from beyond_ram import figures, logs, making


def main(snakemake):
    given = making.arguments(snakemake.params.needs, snakemake.input, snakemake.params.pairs, snakemake.params.claimed)
    drawn = making.figure(snakemake.input.script, given)
    figure, caption = figures.not_drawn(drawn) if isinstance(drawn, str) else drawn
    output = snakemake.output
    figures.save(figure, caption, svg=output.svg, png=output.png, caption_file=output.caption)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
