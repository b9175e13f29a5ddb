"""The figures of docs/what-each-number-means.md, from calibration runs on this machine."""

import argparse
from pathlib import Path

import pandas as pd
import seaborn as sns

from beyond_ram import figures
from beyond_ram.watch.calibration.cases import Run, run_program

MB = figures.MB
plt = figures.plt
MEASURES = {"rss_bytes": "summed RSS", "pss_bytes": "summed PSS", "uss_bytes": "summed USS"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    figures.theme()
    for name, draw in {"kinds": kinds, "sharing": sharing, "spikes": spikes}.items():
        figure = draw()
        figure.savefig(out / f"meaning_{name}.png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)


def kinds():  # type: ignore[no-untyped-def]
    """Anonymous and file memory over time, of a program that allocates each and releases it."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.4), sharey=True)
    for axes, program, title in zip(
        panels, ("anonymous", "file"), ("200 MB of its own", "200 MB of a file"), strict=True
    ):
        run = run_program(program, ["200", "{folder}"], interval_ms=5)
        samples = pd.DataFrame(run.samples)
        for column, (name, colour) in figures.KINDS.items():
            sns.lineplot(x=samples["t_s"], y=samples[column] / MB, label=name, color=colour, ax=axes)
        axes.set(title=title, xlabel="seconds", ylabel="MB")
    return figure


def sharing():  # type: ignore[no-untyped-def]
    """Summed RSS, PSS and USS before and after workers share memory, and copy it by reading it."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.6))
    cases = {
        "8 workers read 100 MB of shared memory": run_program("shared", ["100", "8"]),
        "4 workers look at a list of 50 MB": run_program("copied", ["50", "4"]),
    }
    for axes, (title, run) in zip(panels, cases.items(), strict=True):
        sns.barplot(_before_after(run), x="measure", y="MB", hue="when", ax=axes)
        for bars in axes.containers:
            axes.bar_label(bars, fmt="{:,.0f}", fontsize=9)
        axes.set(title=title, xlabel="", ylim=(0, 1.3 * axes.get_ylim()[1]))
        axes.legend(loc="upper right", ncols=2)
    return figure


def spikes():  # type: ignore[no-untyped-def]
    """25 spikes: the samples, and the kernel's high-water mark of each phase."""
    run = run_program("spikes", ["20", "25"], interval_ms=50)
    figure, axes = plt.subplots(figsize=(11, 3.4))
    samples = pd.DataFrame(run.samples)
    axes.plot(
        samples["t_s"], samples["rss_bytes"] / MB, "o", markersize=4, color="#0072B2", label="sampled every 50 ms"
    )
    phases = [phase for phase in run.record["phases"] if phase["phase"].startswith("spike")]
    middle = [(phase["start_s"] + phase["end_s"]) / 2 for phase in phases]
    marks = [phase["hwm_bytes"] / MB for phase in phases]
    axes.plot(
        middle, marks, "_", markersize=14, markeredgewidth=3, color="#D55E00", label="kernel's mark of each phase"
    )
    axes.set(xlabel="seconds", ylabel="RSS (MB)", ylim=(0, None))
    axes.legend(loc="lower right")
    return figure


def _before_after(run: Run) -> pd.DataFrame:
    return pd.DataFrame(
        {"measure": name, "when": when, "MB": run.start(phase).get(column, 0) / MB}
        for when, phase in (("before", "filling"), ("after", "full"))
        for column, name in MEASURES.items()
    )


if __name__ == "__main__":
    main()
