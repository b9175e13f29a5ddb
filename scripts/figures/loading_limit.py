"""Loaders with enough memory, and under a limit that is smaller than the data."""

import math

from beyond_ram import figures
from beyond_ram.analysis.loaders import by_way
from beyond_ram.units import short_size

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
    limited = limited.sort_values(["order", "rows_per_s_reached"], ascending=[True, False])
    free = free.loc[limited.index]
    figure, (axes,) = figures.panels(1, 0.72 * len(limited) + 1.2, 0, width=figures.ANSWER)
    low, high = (ran["rows_per_s_reached"].fillna(1).agg(end) for end in ("min", "max"))
    left = low / 3
    for place, (with_limit, without) in enumerate(zip(lines(limited), lines(free), strict=True)):
        name = f"{with_limit['loader']}, {with_limit['order']}"
        axes.annotate(name, (left, place - 0.3), xytext=(2, 0), textcoords="offset points", va="center", weight="bold")
        for line, colour, offset in ((without, FREE, -0.04), (with_limit, LIMITED, 0.24)):
            rate = line["rows_per_s_reached"]
            if rate == rate:
                axes.barh(place + offset, rate, 0.26, color=colour)
            figures.beside(axes, label(line), (rate if rate == rate else left, place + offset), 5)
    axes.set_xscale("log")
    axes.set_xlim(left, high * (high / left) ** 1.35)  # the labels need more than half of the width
    axes.set_yticks([])
    axes.set_ylim(len(limited) - 0.5, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xticks([tick for tick in axes.get_xticks() if left < tick <= high])
    axes.set_xlabel("rows per second, on a logarithmic scale")
    handles = [
        figures.handle(text, linestyle="", marker="s", markersize=10, color=colour)
        for text, colour in (("enough memory", FREE), (f"limit: {percent:.0f} % of the rows", LIMITED))
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return figure, f"{answer(limited, free, percent, size_of(ran))}\n\n{condition(limited)}"


def lines(table):
    return table.reset_index().to_dict("records")


def label(line):
    """The rate; what was read for each byte that was used; and the end of a run that did not finish."""
    if not isinstance(line["outcome"], str):
        return "not run"
    rate = line["rows_per_s_reached"]
    text = figures.two_digits(rate) if rate == rate else "no rows"
    if line["read_per_byte"] == line["read_per_byte"]:
        text += f", read {figures.two_digits(line['read_per_byte'])} times"
    end = ended(line).replace("timed out after", "cut at")  # shorter, for a phone
    return f"{text}, {end}" if end else text


def ended(line):
    """How the runs ended that did not complete, and how many of them if not all; empty if there are none."""
    runs = line["runs"]
    outcome = line["outcome"].replace("_", " ")
    if line["n"]:
        return f"{runs - line['n']:.0f} of {runs:.0f} runs {outcome}" if line["n"] < runs else ""
    return f"{outcome} after {line['duration_s']:.0f} s" if line["outcome"] == "timed_out" else outcome


def size_of(ran):
    """The bytes of all rows and of one, as the runs that finished stored them; without one, only what is meant."""
    stored, rows = (ran[name].max() if name in ran else None for name in ("stored_bytes", "rows_expected"))
    if not (stored and rows and stored > 0 and rows > 0):
        return "the rows' bytes"
    return f"{short_size(stored)} of rows ({short_size(stored / rows)} each)"


def answer(limited, free, percent, size):
    """Which loader is fastest under the limit, which without it, and which one the limit slows down most; in the orders
    that shuffle, else in all."""
    shuffled = limited.index.get_level_values("order") == "shuffled"
    chosen = limited[shuffled] if shuffled.any() else limited
    beside = free.loc[chosen.index]
    order = "shuffled" if shuffled.any() else "in any order"
    under, enough = fastest(chosen), fastest(beside[beside["rows_per_s_reached"].notna()])
    sentences = [f"With memory for {percent:.0f} % of {size}, {order}, {way(under[0])} reached {reached(under[0])}"]
    sentences[0] += apart(under)
    if enough:
        name, level = way(enough[0]), apart(enough)
        is_fastest = "it is the fastest too:" if name == way(under[0]) else f"{name} is the fastest,"
        sentences.append(f"With enough memory {f'{name} reached' if level else is_fastest} {reached(enough[0])}{level}")
    slowed = [
        (before["rows_per_s_reached"] / rate if rate == rate else math.inf, place)
        for place, (before, after) in enumerate(zip(lines(beside), lines(chosen), strict=True))
        if (rate := after["rows_per_s_reached"]) != rate  # not a row within a second
        or before["rows_per_s_reached_min"] > after["rows_per_s_reached_max"]
    ]
    if slowed:
        _, place = max(slowed)
        before, after = lines(beside)[place], lines(chosen)[place]
        advised = [one for one in lines(chosen) if one["loader"].startswith(f"{after['loader']}, ")]
        rates = [reached(after), *(f"with {one['loader'].partition(', ')[2]} {reached(one)}" for one in advised)]
        start = f"from {reached(before)} to " if before["rows_per_s_reached"] > 0 else "to "
        sentences.append(f"The limit slows {way(after)} most: {start}{'; '.join(rates)}")
    return "".join(f"{sentence}. " for sentence in sentences).strip()


def fastest(table):
    """The lines of a table, the fastest first."""
    return lines(table.sort_values("rows_per_s_reached", ascending=False))


def apart(ordered):
    """The loaders whose range overlaps the range of the first, as a clause."""
    first, *others = ordered
    level = [one["loader"] for one in others if one["rows_per_s_reached_max"] >= first["rows_per_s_reached_min"]]
    return f", not told apart from {', '.join(level)}" if level else ""


def way(line):
    """The loader, and what it shuffles."""
    shuffles = line["order"] == "shuffled" and isinstance(line.get("shuffle"), str)
    return f"{line['loader']} (shuffles {line['shuffle']})" if shuffles else line["loader"]


def reached(line):
    """The rate of a line with its range and number of runs, and how they ended if they did not complete."""
    rate, low, high = (line[f"rows_per_s_reached{end}"] for end in ("", "_min", "_max"))
    some = 0 < line["n"] < line["runs"]
    n = ended(line) if some else f"n = {line['runs']:.0f}"
    end = "" if line["n"] else f" until it was {ended(line)}"
    if rate != rate:
        return f"no rows within a second ({n}){end}"
    ends = figures.two_digits(low), figures.two_digits(high)
    range_of = f"{' to '.join(ends)}, " if ends[0] != ends[1] else ""
    return f"{figures.two_digits(rate)} rows/s ({range_of}{n}){end}"


def condition(limited):
    caches = " or ".join(sorted(set(limited.index.get_level_values("page_cache"))))
    sizes = limited["read_ahead_bytes"].dropna().unique()
    ahead = " or ".join(f"{size / 1024:,.0f} KiB" for size in sizes) or "unknown size"
    return f"""
Rows per second of the first epoch, or as far as a run came, with the lowest and the highest run; a {caches} page
cache. The limit counts page cache, interpreter and imports. Read N times: bytes read from storage for each byte of the
rows that were delivered, with the kernel's read-ahead of {ahead}. Another disk gives other rates.
""".strip()
