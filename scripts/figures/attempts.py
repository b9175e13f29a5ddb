"""The same command under a memory limit, started again until it completes: resident memory over time."""

from beyond_ram import figures

ENDS = {"killed_at_limit": ("killed", "#B22222"), "completed": ("done", "#007A4D")}
GAP = 0.04
"""Between two attempts, as a share of the time of all."""


def plot(records):
    limited = [record for record, _ in records if record.get("attempts")]
    if not limited:
        return next((record["reason"] for record, _ in records if record.get("reason")), "no command ran under a limit")
    shown = list({tuple({**record["cell"], "rep": 1}.items()): record for record in reversed(limited)}.values())[::-1]
    figure, panels = figures.panels(len(shown), 2.4, 0.3, most_columns=1, width=figures.ANSWER, sharex=True)
    colours = figures.colours(dict.fromkeys(record["cell"]["stack"] for record in shown))
    for axes, record in zip(panels, shown, strict=True):
        draw(axes, record, colours[record["cell"]["stack"]])
        axes.set_title(name(record))
        axes.set_ylabel("RSS (MB)")
    panels[-1].set_xlabel("seconds")
    return figure, f"{' '.join(map(answer, shown))}\n\n{CONDITION}"


CONDITION = """
Resident memory of the process tree over time, one curve for each start of the same command; red: the limit, which
the kernel enforces. RSS can exceed it, because it includes pages of files that others read before, which do not count.
Points are ends of shards; hollow, with their number, those from the cache. A start passes once what is left fits:
starting again helps only if a single shard fits. One repeat is drawn.
"""


def name(record):
    cell = record["cell"]
    size = f"{figures.input_size(record['work'])} of " if "bytes_in" in record["work"] else ""  # only of a finished run
    return f"{cell['stack']}, {size}{cell['corpus']}, {cell['shards']} shards"


def draw(axes, record, colour):
    attempts, limit = record["attempts"], record["memory_limit_bytes"] / figures.MB
    begins, gap = 0.0, GAP * sum(one["duration_s"] for one in attempts)
    top = limit
    for attempt in attempts:
        times = [begins + point["t_s"] for point in attempt["course"]]
        sizes = [point["rss_bytes"] / figures.MB for point in attempt["course"]]
        axes.plot(times, sizes, color=colour, linewidth=1.3)
        cached = [shard for shard in attempt["shards"] if shard["from_cache"]]
        if cached:
            place = (begins + cached[-1]["t_s"], cached[-1]["rss_bytes"] / figures.MB)
            figures.beside(axes, f"{len(cached)}", place, 6)
        for shard in attempt["shards"]:
            face = "white" if shard["from_cache"] else colour
            axes.plot(begins + shard["t_s"], shard["rss_bytes"] / figures.MB, "o", color=colour, markerfacecolor=face)
        word, ink = ENDS.get(attempt["outcome"], (attempt["outcome"].replace("_", " "), "0.2"))
        top = max([top, *sizes])
        axes.annotate(word, (times[-1], top), xytext=(0, 4), textcoords="offset points", ha="center", color=ink)
        begins += attempt["duration_s"] + gap
    axes.axhline(limit, color="#B22222", linestyle="--", linewidth=1.2)
    axes.set_ylim(0, 1.25 * top)


def answer(record):
    """How many starts it took, and what shards cost that came from the cache."""
    attempts = record["attempts"]
    killed = sum(one["outcome"] == "killed_at_limit" for one in attempts)
    limit = record["memory_limit_bytes"] / figures.MB
    stack = record["cell"]["stack"]
    if attempts[-1]["outcome"] != "completed":
        return f"{stack}: under {limit:,.0f} MB it did not complete in {len(attempts)} starts."
    if not killed:
        return f"{stack}: under {limit:,.0f} MB it completed at the first start."
    last = attempts[-1]["shards"]
    cached = [shard for shard in last if shard["from_cache"]]
    times = "once" if killed == 1 else f"{killed} times"
    sentence = f"{stack}: under {limit:,.0f} MB it was killed {times}, and the same command then completed."
    if not cached or len(cached) == len(last):
        return sentence
    sizes = [shard["rss_bytes"] / figures.MB for shard in cached]
    computed = [shard["rss_bytes"] / figures.MB for shard in last if not shard["from_cache"]]
    return (
        f"{sentence} Its last start read {len(cached)} of {len(last)} shards from the cache, without running the "
        f"tokenizer ({max(sizes):,.0f} MB resident then), and computed the rest "
        f"({computed[-1]:,.0f} MB resident after it)."
    )
