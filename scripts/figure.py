"""Draw a figure with the function `plot` of its script in scripts/figures."""

from beyond_ram import figures
from beyond_ram.workflow import logs, make_output


def main(snakemake):
    params = snakemake.params
    arguments = make_output.arguments(params.needs, snakemake.input, params.pairs, params.questions)
    result = make_output.figure(snakemake.input.script, arguments)
    figure, caption = figures.not_drawn(result) if isinstance(result, str) else result
    output = snakemake.output
    figures.save(figure, caption, svg=output.svg, png=output.png, caption_file=output.caption)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
