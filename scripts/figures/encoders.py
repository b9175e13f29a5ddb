"""Peak of anonymous memory and speed of the functions that return the same ids."""

from beyond_ram import figures
from beyond_ram.metrics import METRICS

SHOWN = ("peak_grown_anon_bytes", "tokens_per_cpu_s")
CALLS = {"tokenizers": "encode", "tokenizers-fast": "encode_batch_fast\nor ids_array", "transformers": "__call__"}


def plot(runs):
    runs = runs.query("workload == 'soak' and completed_work == True")
    if not runs.empty:
        runs = runs[runs["between"] == "nothing"]
        runs = runs[runs.groupby("experiment")["subject"].transform("nunique") > 1]
    if runs.empty:
        return "no experiment of this config varies the subject"
    runs = runs[["stack", "corpus", "num_files", "subject", "rows", "bytes_in", "token_count", *SHOWN]]
    runs = runs.assign(
        call=runs["subject"].map(lambda subject: "\n".join([subject, *filter(None, [CALLS.get(subject)])])),
        peak_grown_anon_bytes=runs["peak_grown_anon_bytes"] / figures.MB,
        tokens_per_cpu_s=runs["tokens_per_cpu_s"] / 1e6,
    )
    calls, stacks = list(dict.fromkeys(runs["call"])), list(dict.fromkeys(runs["stack"]))
    colours = figures.colours(stacks)
    figure, grid = figures.rows(2, 6.4)
    units = dict(zip(SHOWN, ("MB", "million tokens per CPU-second"), strict=True))
    counts = runs.groupby(["stack", "call"]).size()
    for axes, metric in zip(grid[:, 0], SHOWN, strict=True):
        apart = 0.8 / len(stacks)
        for (stack, call), values in runs.groupby(["stack", "call"])[metric]:
            place = calls.index(call) + apart * (stacks.index(stack) - (len(stacks) - 1) / 2)
            form = "{:,.2f}" if metric == SHOWN[1] else "{:,.0f}"
            figures.dots(axes, place, values.tolist(), colours[stack], form, 0.7 * apart)
        axes.set_xticks(range(len(calls)), calls)
        axes.set_xlim(-0.5, len(calls) - 0.5)
        axes.set_ylim(0, 1.15 * runs[metric].max())
        axes.set_ylabel(units[metric])
        axes.set_title(f"{METRICS[metric].label}\n({METRICS[metric].direction} is better, {figures.counts(counts)})")
    handles = [figures.handle(s, color=colours[s], marker="o", markerfacecolor="none") for s in stacks]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(stacks))
    same = runs.groupby(["corpus", "num_files"])["token_count"].nunique().eq(1).all()
    agreed = "All gave the same number of ids." if same else "They did NOT give the same number of ids."
    caption = f"""
The same {runs["rows"].median():,.0f} documents ({runs["bytes_in"].median() / figures.MB:,.0f} MB, epochs added up),
one at a time, by {len(calls)} functions; the ids are not kept. Circles are runs ({figures.counts(counts)} per
function), lines their medians. {agreed}
"""
    return figure, caption
