"""Draw a figure with the function `plot` of its script in scripts/figures."""

from beyond_ram import figures, logs, making


def main(snakemake):
    params = snakemake.params
    arguments = making.arguments(params.needs, snakemake.input, params.pairs, params.questions)
    result = making.figure(snakemake.input.script, arguments)
    figure, caption = figures.not_drawn(result) if isinstance(result, str) else result
    output = snakemake.output
    figures.save(figure, caption, svg=output.svg, png=output.png, caption_file=output.caption)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
