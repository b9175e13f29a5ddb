"""A figure, by the function `plot` of its script in scripts/figures."""

from beyond_ram import figures, logs, making


def main(snakemake):
    params = snakemake.params
    given = making.arguments(params.needs, snakemake.input, params.pairs, params.claimed, params.questions)
    drawn = making.figure(snakemake.input.script, given)
    figure, caption = figures.not_drawn(drawn) if isinstance(drawn, str) else drawn
    output = snakemake.output
    figures.save(figure, caption, svg=output.svg, png=output.png, caption_file=output.caption)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
