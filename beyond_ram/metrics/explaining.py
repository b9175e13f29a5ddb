"""What analysis makes of runs: slopes, shards, owners, regrowth, remedies, steps between versions, claims."""

from .base import EXACT, MARK, Column

_FIT = "scipy.stats.linregress"
_DECIDED = "a 95 % interval for the one comparison: see docs/method.md"
_OWNERS = "read from outside at each step of the release order; what comes free with a step was held by its owner alone"
_SHARD = "tree at the mark `shard`"

COLUMNS: list[Column] = [
    *(
        column
        for kind, word in (("anon", "anonymous"), ("file", "file"))
        for column in (
            Column(
                key=f"{kind}_slope_mb_per_gb", label=f"Growth of {word} memory with the input", unit="MB/GB",
                direction="lower" if kind == "anon" else "neither", tables=("growth",),
                derivation=f"slope of {word} memory over input done, between documents or at the ends of runs, by "
                "generalised least squares",
                trust="with its 95 % interval, averaged over how much of the scatter adds up; none under three "
                "readings; of the input weighed, not beyond",
            ),
            Column(
                key=f"{kind}_intercept_mb", label=f"{word.capitalize()} memory without input", unit="MB",
                tables=("growth",), derivation="where the slope's line through the mean reading is without input",
                trust="an extrapolation: no run has no input",
            ),
            Column(
                key=f"{kind}_rise_mb", label=f"Rise of {word} memory", unit="MB", tables=("growth",),
                derivation="last reading less the first", trust=MARK,
            ),
            Column(
                key=f"{kind}_level_mb", label=f"Level of {word} memory", unit="MB", tables=("growth",),
                derivation="first reading and a of a (1 - exp(-x / b)) fitted from there, where it levels off",
                trust="given where it fits better than a line (F test, 5 %) and is reached within the input",
            ),
            Column(
                key=f"{kind}_scale_gb", label=f"Scale of the rise of {word} memory", unit="GB", tables=("growth",),
                derivation="b of the same fit", trust="that of the level",
            ),
        )
    ),
    Column(
        key="difference_mb_per_gb", label="Growth of anonymous memory, less the baseline's", unit="MB/GB",
        direction="lower", tables=("growth",), names=("difference_mb_per_gb", "difference_low", "difference_high"),
        derivation="slope of the difference between the two stacks after the same documents, with its 95 % interval",
        trust=_DECIDED,
    ),
    Column(
        key="difference_strength", label="Strength of the difference", unit="log of a ratio", tables=("growth",),
        derivation="log of the end of the interval that is nearest to no difference, over the baseline's slope",
        trust=_DECIDED,
    ),
    Column(
        key="gb_over_largest", label="A gigabyte over the largest input", unit="ratio", tables=("growth",),
        derivation="1e9 / bytes_in_max", trust="how far what was weighed is from a gigabyte",
    ),
    Column(
        key="bytes_in_max", label="Largest input", unit="bytes", tables=("growth",), derivation="largest bytes_in",
        trust=EXACT,
    ),
    Column(
        key="rows", label="Rows of the shard", unit="rows", tables=("shards",), derivation="what the shard says",
        trust=EXACT,
    ),
    Column(
        key="tokenizer_calls", label="Calls of the tokenizer", unit="calls", tables=("shards",),
        derivation="counted by the workload, over all processes; 0 for a shard from cache", trust=EXACT,
    ),
    Column(
        key="cache_bytes_written", label="Written into map's cache", unit="bytes", tables=("shards",),
        derivation="sizes of the files below the cache, before and after the shard", trust=EXACT,
    ),
    Column(
        key="rss_bytes", label="RSS after the shard", unit="bytes", direction="lower", tables=("shards",),
        derivation=_SHARD, trust=MARK,
    ),
    Column(
        key="anon_bytes", label="Anonymous memory after the shard", unit="bytes", direction="lower",
        tables=("shards",), derivation=_SHARD, trust=MARK,
    ),
    Column(
        key="file_bytes", label="File memory after the shard", unit="bytes", tables=("shards",),
        derivation=_SHARD, trust=MARK,
    ),
    Column(
        key="anon_released_bytes", label="Anonymous memory that came free", unit="bytes", tables=("owners",),
        derivation="tree before the step less tree after it; of the residue, what remained above the imports",
        trust=_OWNERS,
    ),
    Column(
        key="file_released_bytes", label="File memory that came free", unit="bytes", tables=("owners",),
        derivation="tree before the step less tree after it; of the residue, what remained above the imports",
        trust=_OWNERS,
    ),
    Column(
        key="share", label="Share of the growth", unit="share", tables=("owners",),
        derivation="anon_released_bytes / anon_grown_bytes; those of a run add up to 1", trust=_OWNERS,
    ),
    Column(
        key="anon_grown_bytes", label="Growth of anonymous memory since the imports", unit="bytes", direction="lower",
        tables=("owners", "verdicts"),
        derivation="from the mark `imported` to the first reading of the release order; of a cell the median, with "
        "the 95 % interval of the mean",
        trust=MARK,
    ),
    Column(
        key="imported_anon_bytes", label="Anonymous memory after the imports", unit="bytes", tables=("verdicts",),
        derivation="tree at the mark `imported`, the median of the runs", trust=MARK,
    ),
    Column(
        key="epochs_read", label="Epochs with a reading", unit="epochs", tables=("regrowth",),
        derivation="marks `epoch` of a run, of the run with the fewest", trust=EXACT,
    ),
    Column(
        key="epoch_input_bytes", label="Input of an epoch", unit="bytes", tables=("regrowth",),
        derivation="bytes_in / epochs", trust=EXACT,
    ),
    Column(
        key="first_epoch_bytes", label="Growth in the first epoch", unit="bytes", direction="lower",
        tables=("regrowth",), trust=MARK,
        derivation="anonymous memory after it less that at the mark `imported`, the mean of the runs",
    ),
    Column(
        key="slope_bytes", label="Growth an epoch", unit="bytes", direction="lower", tables=("regrowth",),
        derivation=f"least-squares slope of anonymous memory over the later half of the epochs ({_FIT}), mean of runs",
        trust="with its 95 % interval over runs, Student's t; none of one run, whose readings depend on each other",
    ),
    Column(
        key="without", label="Without the remedy", unit="the metric's", tables=("remedies",),
        derivation="median of the cell's runs without it", trust="that of the metric",
    ),
    Column(
        key="with", label="With the remedy", unit="the metric's", tables=("remedies",),
        derivation="median of the cell's runs with it", trust="that of the metric",
    ),
    Column(
        key="from_value", label="Before the step", unit="the metric's", tables=("ladders",),
        derivation="median of the runs of from_version", trust="that of the metric",
    ),
    Column(
        key="to_value", label="After the step", unit="the metric's", tables=("ladders",),
        derivation="median of the runs of to_version", trust="that of the metric",
    ),
    Column(
        key="ratio", label="Ratio", unit="ratio", tables=("remedies", "ladders"), names=("ratio", "low", "high"),
        derivation="geometric mean of the second over that of the first; `low` and `high` its interval",
        trust=_DECIDED,
    ),
    *(
        Column(
            key=key, label=f"The {key}", unit="the metric's", tables=("comparisons", "changes"),
            trust="that of the metric", derivation="mean of its repeats, geometric where a ratio is compared",
        )
        for key in ("baseline", "candidate")
    ),
    Column(
        key="ratio", label="Ratio", unit="ratio", tables=("comparisons", "changes"), names=("ratio", "low", "high"),
        derivation="candidate / baseline, geometric, where all values are large enough for one; `low` and `high` the "
        "ends of its interval, or of the difference's",
        trust=_DECIDED,
    ),
    Column(
        key="difference", label="Difference", unit="the metric's", tables=("comparisons", "changes"),
        derivation="candidate less baseline, where a value is too small for a ratio", trust=_DECIDED,
    ),
    Column(
        key="p", label="p", unit="probability", tables=("comparisons", "changes"),
        names=("p",), trust="see docs/method.md",
        derivation="two-sided, of no difference: t of the pairs, its variance moderated over the metric's comparisons",
    ),
    Column(
        key="p_corrected", label="p, corrected", unit="probability", tables=("comparisons", "changes"),
        derivation="p by Holm, over all lines of the table", trust="holds whatever depends on what",
    ),
    Column(
        key="could_see", label="Smallest that could be seen", unit="ratio, or the metric's",
        tables=("comparisons", "changes"),
        derivation="the ratio above 1, or difference above 0, from which on this line would be called different",
        trust="of such an effect about half are found",
    ),
    Column(
        key="strength", label="Strength", unit="log of a ratio", tables=("comparisons",),
        derivation="log of the end of the interval that is nearest to no difference; 0 where it holds none",
        trust=_DECIDED,
    ),
    Column(
        key="claimed", label="What is claimed", unit="ratio, or as the claim says", tables=("claims",),
        derivation="the published number", trust="as published",
    ),
    Column(
        key="measured", label="What was measured", unit="ratio, or as the claim says", tables=("claims",),
        names=("measured", "low", "high", "low_corrected", "high_corrected"),
        derivation="after over before, the way round in which larger is better, unless the claim is a number of its "
        "own; `low` and `high` its interval, `_corrected` the one that decides",
        trust=f"{_DECIDED}; counts that are the same in every repeat, two or more, are exact",
    ),
]  # fmt: skip
