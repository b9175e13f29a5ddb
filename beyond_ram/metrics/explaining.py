"""Columns of analysis: slopes, shards, holders, regrowth, steps between versions."""

from .base import EXACT, MARK, Column

_DECIDED = "with a 95 % interval of this comparison alone: see docs/method.md"
_HOLDERS = "read by the program's own process after each step of a run that is never compared"
_SHARD = "tree at the mark `shard`"

COLUMNS: list[Column] = [
    Column("anon_slope_mb_per_gb", "Growth of anonymous memory with the input", "MB/GB", ("growth",),
        "slope of anonymous memory over input done, between documents or at the ends of runs, by "
        "generalised least squares",
        "with its 95 % interval; none below three readings; holds for the measured input, not beyond",
        direction="lower"),
    Column("anon_rise_mb", "Rise of anonymous memory", "MB", ("growth",), "last reading minus the first", MARK),
    Column("anon_level_mb", "Level of anonymous memory", "MB", ("growth",),
        "mean of the readings from where memory no longer rises",
        "given if a (1 - exp(-x / b)) fits better than a line (F test, 5 %) and there are three readings "
        "from 3 b on"),
    Column("difference_mb_per_gb", "Heap growth per input, less the baseline's", "MB/GB", ("growth",),
        "slope of the difference between the two stacks after the same documents, with its 95 % interval", _DECIDED,
        direction="lower", names=("difference_mb_per_gb", "difference_low", "difference_high")),
    Column("bytes_in_min", "Input at the first reading", "bytes", ("growth",), "smallest bytes_in of a reading", EXACT),
    Column("bytes_in_max", "Largest input", "bytes", ("growth",), "largest bytes_in", EXACT),
    Column("word_bytes", "Bytes per word", "bytes", ("growth",), "bytes_in / words of the mark `work`; a word is what "
        "white space divides", EXACT),
    Column("rows", "Rows of the shard", "rows", ("shards",), "from the mark `shard`", EXACT),
    Column("tokenizer_calls", "Calls of the tokenizer", "calls", ("shards",),
        "counted by the workload, over all processes; 0 for a shard from cache", EXACT),
    Column("cache_bytes_written", "Written to map's cache", "bytes", ("shards",),
        "sizes of the files below the cache, before and after the shard", EXACT),
    Column("rss_bytes", "RSS after the shard", "bytes", ("shards",), _SHARD, MARK, direction="lower"),
    Column("anon_bytes", "Anonymous memory after the shard", "bytes", ("shards",), _SHARD, MARK, direction="lower"),
    Column("file_bytes", "File memory after the shard", "bytes", ("shards",), _SHARD, MARK),
    Column("released_bytes", "Memory released", "bytes", ("holders",),
        "anonymous memory before the step minus that after it; for `imports` and `stayed`, what no step released",
        _HOLDERS),
    Column("share", "Share of the memory at the end", "share", ("holders",),
        "released_bytes / (heap at the end - heap at the start); those of a run add up to 1", _HOLDERS),
    Column("epochs_read", "Epochs with a reading", "epochs", ("regrowth",),
        "marks `epoch` of the run with the fewest", EXACT),
    Column("epoch_input_bytes", "Input of an epoch", "bytes", ("regrowth",),
        "`bytes_in` of the first epoch by its rows if known, else `bytes_in` / epochs", EXACT),
    Column("first_epoch_bytes", "Growth in the first epoch", "bytes", ("regrowth",),
        "anonymous memory after it minus that at the mark `imported`, mean of the runs", MARK, direction="lower"),
    Column("slope_bytes", "Growth per epoch", "bytes", ("regrowth",),
        "least-squares slope of anonymous memory over the later half of the epochs, mean of runs",
        "with its 95 % interval over runs (Student's t, with a scatter of at least one page of memory); "
        "none for one run, whose readings depend on each other",
        direction="lower"),
    Column("from_value", "Before the step", "the metric's", ("ladders",), "median of the runs of from_version",
        "as the metric"),
    Column("to_value", "After the step", "the metric's", ("ladders",), "median of the runs of to_version",
        "as the metric"),
    Column("ratio", "Ratio", "ratio", ("ladders",),
        "geometric mean of the runs after the step, divided by that of the runs before it. `low` and `high` are the "
        "ends of its interval. Where a value is too small for a ratio, it is 1 + difference / value before, and `low` "
        "may be below 0", _DECIDED,
        names=("ratio", "low", "high")),
    *(
        Column(key, f"The {key}", "the metric's", ("comparisons", "changes"),
            "mean of its repeats; geometric mean for a ratio", "as the metric")
        for key in ("baseline", "candidate")
    ),
    Column("ratio", "Ratio", "ratio", ("comparisons", "changes"),
        "candidate / baseline, geometric, if all values are large enough; `low` and `high` are the "
        "ends of its interval, or of the difference's", _DECIDED, names=("ratio", "low", "high")),
    Column("difference", "Difference", "the metric's", ("comparisons", "changes"),
        "candidate less baseline, if a value is too small for a ratio", _DECIDED),
    Column("p", "p", "probability", ("comparisons", "changes"),
        "two-sided, for no difference: t of the pairs, with a variance moderated over the metric's comparisons",
        "see docs/method.md", names=("p",)),
    Column("p_corrected", "p, corrected", "probability", ("comparisons", "changes"),
        "p over all lines of the `family`: planned ones by Holm, exploratory ones by Benjamini and Hochberg; and over "
        "the looks at a question that is repeated until it is decided",
        "Holm's holds for dependent comparisons; one in twenty confirmed exploratory lines is expected to be wrong"),
    Column("detectable", "Smallest change that would be confirmed", "ratio, or the metric's",
        ("comparisons", "changes"),
        "the smallest ratio above 1, or difference above 0, that would be confirmed on this line, at its place in "
        "its family",
        "about half of such effects are confirmed"),
    Column("strength", "Strength", "log of a ratio", ("comparisons",),
        "log of the interval's end nearest to no difference; 0 if the interval includes none", _DECIDED),
    Column("mean", "Mean", "the number's", ("reported",),
        "of the runs that finished their work; `low` and `high` are the ends of its 95 % interval",
        "as its script says", names=("mean", "low", "high")),
]  # fmt: skip
