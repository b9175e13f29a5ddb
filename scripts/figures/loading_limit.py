"""Loaders with enough memory, and under a limit that is smaller than the data."""

from matplotlib.ticker import LogLocator

from beyond_ram import figures
from beyond_ram.analysis.loaders import by_way

FREE, LIMITED = "#BBBBBB", "#0072B2"
_SETTING = ["loader", "order", "workers", "start", "tokens", "page_cache", "batch_size"]


def plot(loaders):
    if "limit_percent" not in loaders or not (loaders["limit_percent"] > 0).any():
        return "no experiment of this config loads under a memory limit"
    ran = loaders[loaders["outcome"] != "not_applicable"]
    if ran[ran["limit_percent"] > 0].empty:
        return str(loaders.loc[loaders["limit_percent"] > 0, "account"].iloc[0])
    ran = by_way(ran).astype({"rows_per_s_reached": float, "read_per_byte": float, "read_ahead_bytes": float})
    percent = ran.loc[ran["limit_percent"] > 0, "limit_percent"].min()
    limited = ran[ran["limit_percent"] == percent].drop_duplicates(_SETTING).set_index(_SETTING)
    free = ran[ran["limit_percent"] == 0].drop_duplicates(_SETTING).set_index(_SETTING).reindex(limited.index)
    limited = limited.sort_values("rows_per_s_reached", ascending=False)
    free = free.loc[limited.index]
    figure, (axes,) = figures.panels(1, 0.62 * len(limited) + 1.6, 0)
    low, high = (ran["rows_per_s_reached"].fillna(1).agg(end) for end in ("min", "max"))
    names = [f"{loader}, {order}" for loader, order, *_ in limited.index]
    for place, (with_limit, without) in enumerate(zip(lines(limited), lines(free), strict=True)):
        for line, colour, offset in ((without, FREE, -0.19), (with_limit, LIMITED, 0.19)):
            rate = line["rows_per_s_reached"]
            if rate == rate:
                axes.barh(place + offset, rate, 0.36, color=colour)
            if isinstance(line["outcome"], str):  # it ran
                figures.beside(axes, label(line), (rate if rate == rate else low / 3, place + offset), 5)
    axes.set_xscale("log")
    axes.set_xlim(low / 3, high * 60)
    axes.set_yticks(range(len(names)), [figures.fill(name, 1.9) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_locator(LogLocator(10, numticks=5))
    axes.set_xlabel("rows per second")
    handles = [
        figures.handle(text, linestyle="", marker="s", markersize=10, color=colour)
        for text, colour in (("enough memory", FREE), (f"limit: {percent:.0f} % of the rows' bytes", LIMITED))
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return figure, f"{answer(limited, free, percent)}\n\n{condition(limited, percent)}"


def lines(table):
    return table.reset_index().to_dict("records")


def rate_of(line):
    """The rate of a line; a run may end before its rows are counted."""
    rate = line["rows_per_s_reached"]
    return f"{rate:,.0f} rows/s" if rate == rate else "no rows within a second"


def label(line):
    """The rate; what was read for each byte that was used; and the end of a run that did not finish."""
    text = rate_of(line).removesuffix(" rows/s")
    if line["read_per_byte"] == line["read_per_byte"]:
        ratio = line["read_per_byte"]
        text += f", read {ratio:,.0f} times" if ratio >= 100 else f", read {ratio:.2g} times"
    return text if line["outcome"] == "completed" else f"{text}, {line['outcome'].replace('_', ' ')}"


def answer(limited, free, percent):
    """Which loader is fastest under the limit and which without it, in the orders that shuffle, else in all."""
    shuffled = limited.index.get_level_values("order") == "shuffled"
    chosen = limited[shuffled] if shuffled.any() else limited
    done = chosen[chosen["outcome"] == "completed"]
    beside = free.loc[chosen.index].sort_values("rows_per_s_reached", ascending=False)
    beside = beside[beside["outcome"] == "completed"]
    what = "shuffled" if shuffled.any() else "of all orders"
    if done.empty:
        best = f"no loader, {what}, finished under the limit"
    else:
        first = lines(done.head(1))[0]
        best = f"{first['loader']}, {what}: {first['rows_per_s_reached']:,.0f} rows/s (n = {first['n']:.0f})"
    sentence = f"With memory for {percent:.0f} % of the rows, {best}."
    if beside.empty:
        return sentence
    top = lines(beside.head(1))[0]
    there = lines(chosen.loc[[beside.index[0]]])[0]
    if not done.empty and beside.index[0] == done.index[0]:
        return f"{sentence} It is the fastest with enough memory too: {top['rows_per_s_reached']:,.0f} rows/s."
    end = "" if there["outcome"] == "completed" else f" until it was {there['outcome'].replace('_', ' ')}"
    return (
        f"{sentence} {top['loader']}, the fastest with enough memory at {top['rows_per_s_reached']:,.0f} rows/s, "
        f"delivered {rate_of(there)} there{end}."
    )


def condition(limited, percent):
    caches = " or ".join(sorted(set(limited.index.get_level_values("page_cache"))))
    sizes = limited["read_ahead_bytes"].dropna().unique()
    ahead = " or ".join(f"{size / 1024:,.0f} KiB" for size in sizes) or "unknown size"
    return f"""
Rows per second of the first epoch, or as far as a run came; a {caches} page cache. The limit counts page cache,
interpreter and imports. Read N times: bytes read from storage for each byte of the rows that were delivered, with the
kernel's read-ahead of {ahead}. Another disk gives other rates.
"""
