"""Steps of Spark's data source for the Hub: a row per version, a column per step."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.spark import tried

# Colour-blind safe; each cell has words too.
COLOURS = {True: "#56B4E9", False: "#E69F00"}


def plot(spark):
    lines = tried(spark)
    if lines.empty:
        return "no experiment of this config runs Spark" if spark.empty else spark["reason"].iloc[0]
    steps, versions = (list(dict.fromkeys(lines[column])) for column in ("step", "pyspark_huggingface"))
    figure, axes = plt.subplots(figsize=(figures.WIDE, 1.9 * len(versions) + 1), layout="constrained")
    for (version, step), runs in lines.groupby(["pyspark_huggingface", "step"]):
        works = bool(runs["works"].all())
        x, y = steps.index(step), versions.index(version)
        # Pale for a single run.
        strong = 1.0 if len(runs) > 1 else 0.4
        axes.add_patch(plt.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=COLOURS[works], alpha=strong))
        # Of several reasons, the first one.
        failed = runs[~runs["works"].astype(bool)]
        often = f"{len(failed)} of {len(runs)}"
        text = (
            f"works: {runs['rows_read'].iloc[0]:,} rows" if works else f"fails in {often}: {failed['reason'].iloc[0]}"
        )
        text += f" (n = {len(runs)})" if works else ""
        axes.text(x, y, figures.fill(text, 5.4 / len(steps)), ha="center", va="center")
    axes.set_xlim(-0.5, len(steps) - 0.5)
    axes.set_ylim(len(versions) - 0.5, -0.5)
    axes.set_xticks(range(len(steps)), steps)
    axes.set_yticks(range(len(versions)), versions)
    axes.set_ylabel("pyspark_huggingface")
    axes.grid(False)
    axes.xaxis.tick_top()
    counts = lines.groupby(["pyspark_huggingface", "step"]).size()
    caption = f"""
A repository is read into Spark, written back as another, and appended to, by data source `huggingface` with the local
endpoint, without Xet. After each write the rows are read again: a step works if every row arrives as often as it was
written. pyspark {lines["pyspark"].iloc[0]}, huggingface_hub {lines["huggingface_hub"].iloc[0]}; n =
{figures.span(counts)} per step, pale with 1. A failure caused by the local endpoint need not occur on the Hub.
"""
    return figure, caption
