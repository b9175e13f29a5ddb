"""Findings: what the tables show, in sentences, strongest first. Each is computed; none is written down beforehand."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..metrics import METRICS
from .compare import ratio
from .dedup import against
from .remedies import MATTERS

MB = 1e6
Tables = Mapping[str, pd.DataFrame]
Line = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One paragraph. `strength` orders them: the effect as a factor, where 2 and one half are as strong."""

    title: str
    text: str
    figure: str
    """The figure that shows it, by name."""
    experiment: str
    """The experiment that shows it alone."""
    strength: float


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first."""
    found = [finding for source in SOURCES for finding in source(tables)]
    return sorted(found, key=lambda finding: -finding.strength)


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio) if ratio > 0 else 1.0


def _growth(tables: Tables) -> Iterator[Finding]:
    """Stacks against each other: how much anonymous memory a gigabyte of input leaves behind."""
    growth = tables["growth"].dropna(subset="anon_slope_mb_per_gb_low")
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for line in _lines(growth[growth["cache"] == "cold"]):
        groups.setdefault(tuple(line[axis] for axis in ("corpus", "mode", "batch_size")), []).append(line)
    for lines in groups.values():
        high = max(lines, key=lambda line: line["anon_slope_mb_per_gb"])
        low = min(lines, key=lambda line: line["anon_slope_mb_per_gb"])
        if high["anon_slope_mb_per_gb_low"] <= low["anon_slope_mb_per_gb_high"]:
            continue
        yield Finding(
            f"{high['stack']} keeps {high['anon_slope_mb_per_gb'] / 1000:,.1f} GB of anonymous memory per GB of text",
            f"Mode {high['mode']}, corpus {high['corpus']}: {_slope(high)}; {low['stack']}: {_slope(low)}.",
            "growth_by_input",
            str(high["experiment"]),
            _factor(high["anon_slope_mb_per_gb"] / max(low["anon_slope_mb_per_gb_high"], 1)),
        )


def _slope(line: Line) -> str:
    low, high = line["anon_slope_mb_per_gb_low"], line["anon_slope_mb_per_gb_high"]
    return f"{line['anon_slope_mb_per_gb']:,.0f} MB per GB (95 % {low:,.0f} to {high:,.0f}, n = {line['n']:.0f})"


def _owners(tables: Tables) -> Iterator[Finding]:
    """Of each stack the cell that grew most and whose owner is known."""
    known = tables["verdicts"]
    best: dict[str, Line] = {}
    for line in _lines(known[known["verdict"].isin(["held", "leak", "retained"])]):
        if line["anon_grown_bytes"] > best.get(line["stack"], {"anon_grown_bytes": 0})["anon_grown_bytes"]:
            best[line["stack"]] = line
    for stack, line in best.items():
        yield Finding(
            f"{stack}: {line['verdict']} by {line['owner']}",
            f"{line['sentence']} Evidence: {line['evidence']}.",
            "who_holds_it",
            str(line["experiment"]),
            1 + math.log10(max(line["anon_grown_bytes"] / (16 * MB), 1)),
        )


def _remedies(tables: Tables) -> Iterator[Finding]:
    """What lowers growth most, and what is told to people and does nothing."""
    remedies = tables["remedies"]
    growth = remedies[remedies["metric"] == "grown_anon_bytes"] if len(remedies) else remedies
    for stack, group in growth.groupby("stack", sort=False):
        helps = group[group["effect"] == "helps"].sort_values("ratio")
        idle = group[group["effect"] == "nothing"]
        if len(helps):
            best = helps.iloc[0]
            yield Finding(
                f"{best['remedy']} takes {1 - best['ratio']:.0%} of the growth away ({stack})",
                f"Growth of anonymous memory {best['without'] / MB:,.0f} MB without, {best['with'] / MB:,.0f} MB with: "
                f"ratio {best['ratio']:.2f} (95 % {best['low']:.2f} to {best['high']:.2f}, n = {best['n']}).",
                "what_helps",
                str(best["experiment"]),
                _factor(best["ratio"]),
            )
        if len(idle):
            names = ", ".join(f"{row['remedy']} ({row['low']:.2f} to {row['high']:.2f})" for row in _lines(idle))
            yield Finding(
                f"Does nothing for the growth ({stack}): {', '.join(idle['remedy'])}",
                f"Growth with it over growth without it lies within {MATTERS:.0%} of 1, with 95 % intervals: {names}.",
                "what_helps",
                str(idle["experiment"].iloc[0]),
                1.0,
            )


def _encoders(tables: Tables) -> Iterator[Finding]:
    """The same ids by another call, for less: runs of `soak` that differ in nothing but the subject."""
    runs = tables["runs"]
    usual, fast = "transformers", "tokenizers-fast"
    tried = runs[
        runs["subject"].isin([usual, fast]) & runs["completed_work"].astype(bool) & runs["between"].eq("nothing")
    ]
    for keys, group in tried.groupby(["experiment", "stack", "corpus", "num_files"], sort=False):
        sides = {subject: group[group["subject"] == subject] for subject in (usual, fast)}
        if any(side.empty for side in sides.values()) or group["tokens"].nunique() != 1:
            continue
        peaks = ratio(*(side["peak_grown_anon_bytes"].tolist() for side in sides.values()))
        speeds = ratio(*(side["tokens_per_cpu_s"].tolist() for side in sides.values()))
        if not peaks.significant or peaks.ratio > 1:
            continue
        medians = {subject: side["peak_grown_anon_bytes"].median() / MB for subject, side in sides.items()}
        version = group["version_transformers"].dropna().iloc[0]
        yield Finding(
            f"transformers {version} takes {1 / peaks.ratio:.1f} times the memory that the ids need ({keys[1]})",
            "Its tokenizers compute offsets also where nobody asked for them. Peak above the imports: "
            f"{medians[usual]:,.0f} MB by {usual}, {medians[fast]:,.0f} MB by encode_batch_fast of tokenizers, for as "
            f"many ids: ratio {peaks.ratio:.2f} (95 % {peaks.low:.2f} to {peaks.high:.2f}); ids per CPU-second "
            f"{speeds.ratio:.2f} times ({speeds.low:.2f} to {speeds.high:.2f}); n = {len(sides[fast])}.",
            "encoders",
            str(keys[0]),
            _factor(peaks.ratio),
        )


def _batches(tables: Tables) -> Iterator[Finding]:
    """Batch sizes count rows, whatever their size: what ten times as many do to the peak."""
    runs = tables["runs"]
    done = runs[
        runs["completed_work"].astype(bool) & runs["cache"].eq("cold") & runs["remedy"].fillna("none").eq("none")
    ]
    for keys, group in done.groupby(["experiment", "stack", "corpus", "num_files"], sort=False):
        for varied, other in (("batch_size", "writer_batch_size"), ("writer_batch_size", "batch_size")):
            lowest = group[group[other] == group[other].min()]
            small, large = lowest[varied].min(), lowest[varied].max()
            if small == large:
                continue
            sides = [lowest.loc[lowest[varied] == size, "peak_grown_anon_bytes"] for size in (small, large)]
            found = ratio(*(side.tolist() for side in sides))
            if not found.significant or found.ratio < 1:
                continue
            first, second = (side.median() / MB for side in sides)
            bytes_in = group["bytes_in"].median()
            yield Finding(
                f"{varied} {large:.0f} instead of {small:.0f}: {found.ratio:.1f} times the peak ({keys[1]})",
                f"It counts rows, whatever their size. Over the same {bytes_in / MB:,.0f} MB of text in "
                f"{group['rows'].median():,.0f} documents the peak above the imports is {first:,.0f} MB with "
                f"{small:.0f}, {second:,.0f} MB with {large:.0f}: ratio {found.ratio:.2f} (95 % "
                f"{found.low:.2f} to {found.high:.2f}, n = {min(map(len, sides))} each). The default is 1,000 rows.",
                "peak_by_batch",
                str(keys[0]),
                _factor(found.ratio),
            )


def _regrowth(tables: Tables) -> Iterator[Finding]:
    """Repeated work that does not level off."""
    regrowth = tables["regrowth"]
    for row in _lines(regrowth[regrowth["regrowth"] == "grows"]):
        what = ", ".join(str(row[axis]) for axis in ("stack", "subject", "case", "between") if row.get(axis))
        slope, low, high = (row[f"slope_bytes{end}"] / MB for end in ("", "_low", "_high"))
        yield Finding(
            f"Grows with every epoch: {what}",
            f"{slope:,.2f} MB an epoch (95 % {low:,.2f} to {high:,.2f}), each over the same "
            f"{row['epoch_input_bytes'] / MB:,.0f} MB of input.",
            "memory_by_epoch",
            str(row["experiment"]),
            1 + row["slope_bytes"] / max(row["epoch_input_bytes"], 1),
        )


def _ladders(tables: Tables) -> Iterator[Finding]:
    """Between which releases something changed."""
    steps = tables["ladders"]
    for line in _lines(steps[steps["significant"].astype(bool)]):
        metric = METRICS[line["metric"]]
        unit, scale = ("MB", MB) if metric.unit == "bytes" else (metric.unit, 1)
        first, second = line["from_value"] / scale, line["to_value"] / scale
        sure: str = "" if pd.isna(line["low"]) else f"95 % {line['low']:.3f} to {line['high']:.3f}, "
        known = f"ratio {line['ratio']:.3f} ({sure}n = {line['n']})"
        yield Finding(
            f"{line['factor']} {line['to_version']}: {second:,.0f} {unit}, where {line['from_version']} has "
            f"{first:,.0f}",
            f"Everything else as stack {line['stack']} locks it, {line['metric']} goes from {first:,.0f} to "
            f"{second:,.0f} {unit} between these two {'neighbouring ' if line['neighbours'] else ''}releases: {known}.",
            "versions",
            str(line["experiment"]),
            min(_factor(line["ratio"]), 1000),
        )


def _limits(tables: Tables) -> Iterator[Finding]:
    """How much memory is really needed, and how far readings are from it."""
    limits = tables["limits"]
    for line in _lines(limits.dropna(subset=["completed_at_bytes", "killed_at_bytes"])):
        needed, rss = line["completed_at_bytes"], line["peak_rss_bytes"]
        cell = ", ".join(str(line[axis]) for axis in ("stack", "mode") if isinstance(line.get(axis), str))
        yield Finding(
            f"{line['experiment']}, {cell}: needs {needed / MB:,.0f} MB, and shows {rss / MB:,.0f} MB of RSS",
            f"It is killed under {line['killed_at_bytes'] / MB:,.0f} MB and completes under {needed / MB:,.0f} MB, "
            f"there in {line['time_ratio']:.2f} times the time. Nearest: {line['nearest_predictor']}. From one run "
            f"without a limit, `beyond-ram watch` would ask a scheduler for {line['ask_bytes'] / MB:,.0f} MB.",
            "smallest_limit",
            str(line["experiment"]),
            _factor(rss / needed),
        )


def _gave_up(tables: Tables) -> Iterator[Finding]:
    """Clients that do not get through, where nothing was made to fail."""
    streaming = tables["streaming"]
    for line in _lines(streaming[(streaming["outcome"] == "failed") & (streaming["fault"] == "none")]):
        yield Finding(
            f"{line['stack']} gives up with {_workers(line)}",
            f"Streaming repository {line['repository']} ends with {line['reason']}. Completed runs of this cell: "
            f"{line['n']}.",
            "requests_by_workers",
            str(line["experiment"]),
            100.0,
        )


def _under_faults(tables: Tables) -> Iterator[Finding]:
    """Which faults of a Hub, each of them gone when asked again, end a stream."""
    streaming = tables["streaming"]
    tried = streaming[streaming["fault"].ne("none") & streaming["outcome"].isin(["completed", "failed"])]
    for (experiment, stack), group in tried.groupby(["experiment", "stack"], sort=False):
        failed = group[group["outcome"] == "failed"]
        if failed.empty:
            continue
        said = "; ".join(f"{line['fault']}: {line['reason']}" for line in _lines(failed))
        through = ", ".join(group.loc[group["outcome"] == "completed", "fault"]) or "none"
        yield Finding(
            f"{stack} gives up under {len(failed)} of {len(group)} kinds of faults",
            f"Each fault is gone when the same is asked again. {said}. Gets through: {through}.",
            "requests_by_workers",
            str(experiment),
            1 + len(failed) / len(group),
        )


def _requests(tables: Tables) -> Iterator[Finding]:
    """Of each repository the conditions under which stacks differ most in what they ask."""
    streaming = tables["streaming"]
    usual = streaming[(streaming["outcome"] == "completed") & streaming["requests_metadata"].gt(0)]
    usual = usual[(usual["mode"] == "stream") & (usual["fault"] == "none")]
    best: dict[str, tuple[float, Line, Line]] = {}
    cell = ["experiment", "repository", "workers", "page_size", "redirect"]
    for _, group in usual[usual["start"] != "spawn"].groupby(cell, sort=False):
        lines = sorted(_lines(group), key=lambda line: float(line["requests_metadata"]))
        factor = lines[-1]["requests_metadata"] / lines[0]["requests_metadata"]
        if factor > best.get(str(lines[0]["repository"]), (1.0, {}, {}))[0]:
            best[str(lines[0]["repository"])] = (factor, lines[0], lines[-1])
    for repository, (factor, least, most) in best.items():
        yield Finding(
            f"{most['stack']} asks {factor:,.1f} times as often as {least['stack']} ({repository}, {_workers(most)})",
            f"Beside its reads of data it makes {most['requests_metadata']:,.0f} requests, {least['stack']} "
            f"{least['requests_metadata']:,.0f} (n = {most['n']} and {least['n']}); the time to the first batch is "
            f"{most['time_to_first_batch_s']:.2f} s and {least['time_to_first_batch_s']:.2f} s.",
            "requests_by_workers",
            str(most["experiment"]),
            factor,
        )


def _asked_by_workers(tables: Tables) -> Iterator[Finding]:
    """Workers that list the files again, although their parent has the list."""
    streaming = tables["streaming"]
    asking = streaming[(streaming["requests_listing_of_workers"] > 0) & (streaming["outcome"] == "completed")]
    asking = asking[
        (asking["mode"] == "stream") & (asking["fault"] == "none") & ~asking["stack"].str.contains("+", regex=False)
    ]
    for _, group in asking.groupby(["stack", "start"], sort=False):
        line = _lines(group.sort_values("requests_listing_of_workers"))[-1]
        each = line["requests_listing_of_workers"] / line["workers"]
        yield Finding(
            f"{line['stack']}: every worker asks for the list of files again ({line['start']})",
            f"With {_workers(line)} on repository {line['repository']} the workers make "
            f"{line['requests_listing_of_workers']:,.0f} requests for it, {each:,.1f} each, although their parent has "
            "it.",
            "requests_by_workers",
            str(line["experiment"]),
            1 + line["requests_listing_of_workers"] / line["requests_metadata"],
        )


# What is compared between the newest stack and the one before, with what is too small to matter.
_NEWEST, _BEFORE = "stream-current", "stream-4.3"
_WATCHED = {
    "requests_metadata": 1.0,
    "requests_data": 1.0,
    "time_to_first_batch_s": 0.1,
    "worker_grown_anon_bytes": 4e6,
}


def _worse(tables: Tables) -> Iterator[Finding]:
    """What the newest releases do worse than those before, under the same conditions: every run beyond every run."""
    streaming = tables["streaming"]
    done = streaming[(streaming["outcome"] == "completed") & (streaming["fault"] == "none")]
    cell = ["experiment", "repository", "mode", "workers", "start", "page_size", "latency_ms", "bandwidth_mb_per_s"]
    cell += ["redirect", "buffering", "shuffle_buffer", "prefetch_factor", "epochs"]
    for _, group in done.groupby(cell, sort=False):
        sides = {line["stack"]: line for line in _lines(group)}
        if not {_NEWEST, _BEFORE} <= sides.keys():
            continue
        newest, before = sides[_NEWEST], sides[_BEFORE]
        for metric, least in _WATCHED.items():
            exact = METRICS[metric].unit == "requests"
            low, high = newest.get(f"{metric}_low", newest[metric]), before.get(f"{metric}_high", before[metric])
            enough = exact or min(newest["n"], before["n"]) >= 2
            if not enough or not low > max(high, before[metric] + least, before[metric] * (1 + MATTERS)):
                continue
            unit, scale = ("MB", MB) if METRICS[metric].unit == "bytes" else (METRICS[metric].unit, 1)
            yield Finding(
                f"Worse in {_NEWEST} than in {_BEFORE}: {METRICS[metric].label.lower()} ({newest['repository']}, "
                f"{_workers(newest)})",
                f"{newest[metric] / scale:,.2f} {unit} where it was {before[metric] / scale:,.2f}; n = {newest['n']} "
                f"and {before['n']}, every run above every run before.",
                "worker_memory" if "anon" in metric else "requests_by_workers",
                str(newest["experiment"]),
                _factor(newest[metric] / before[metric]) if before[metric] else 10.0,
            )


def _reading_ahead(tables: Tables) -> Iterator[Finding]:
    """What a setting of Parquet's reading ahead does to the memory of a process that reads."""
    streaming = tables["streaming"]
    done = streaming[(streaming["outcome"] == "completed") & (streaming["mode"] == "stream")]
    done = done[done["worker_grown_anon_bytes"] > 0]
    cell = ["experiment", "stack", "repository", "workers", "start", "shuffle_buffer", "latency_ms"]
    best: dict[tuple[str, str], tuple[float, Line, Line]] = {}
    for _, group in done.groupby([*cell, "bandwidth_mb_per_s"], sort=False):
        sides = {line["buffering"]: line for line in _lines(group)}
        if "default" not in sides:
            continue
        default = sides.pop("default")
        for name, line in sides.items():
            ratio_of = line["worker_grown_anon_bytes"] / default["worker_grown_anon_bytes"]
            key = (str(line["stack"]), str(name))
            if _factor(ratio_of) > best.get(key, (1.2, {}, {}))[0]:
                best[key] = (_factor(ratio_of), default, line)
    for (stack, name), (factor, default, line) in best.items():
        sizes = [side["worker_grown_anon_bytes"] / MB for side in (line, default)]
        yield Finding(
            f"{name}: {sizes[0]:,.0f} MB in each process that reads, {sizes[1]:,.0f} by default ({stack})",
            f"Repository {line['repository']}, {_workers(line)}, {line['latency_ms']:.0f} ms, "
            f"{line['bandwidth_mb_per_s']:.0f} MB/s: {line['rows_per_s']:,.0f} rows per second with it, "
            f"{default['rows_per_s']:,.0f} by default; n = {line['n']} and {default['n']}.",
            "worker_memory",
            str(line["experiment"]),
            factor,
        )


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} workers by {line['start']}" if line["workers"] else "no workers"


def _dedup(tables: Tables) -> Iterator[Finding]:
    """What cutting pages by content saves when a table is edited and pushed again, and where it saves nothing."""
    for setting, shares in against(tables["dedup"]):
        saved = (shares["on"] / shares["off"]).sort_values()
        best, idle = saved.index[0], saved.index[-1]
        groups = f"compression {setting['compression']}, row groups of {setting['row_group_rows']:,} rows"
        off, on = shares.loc[best, "off"], shares.loc[best, "on"]
        yield Finding(
            f"After {best}, content-defined chunking sends {on:.1%} of the file again instead of {off:.1%} ({groups})"
            if saved[best] < 1 - MATTERS
            else f"Content-defined chunking saves nothing with {groups}",
            f"Stack {setting['stack']}, new bytes by hf_xet, over all of the file's. From the edit that gains most to "
            f"the one that gains least: {', '.join(_share(shares, edit) for edit in saved.index)}."
            + (f" After {idle} it is no gain." if saved[idle] >= 1 else ""),
            "dedup",
            str(setting["experiment"]),
            _factor(saved[best]),
        )


def _hub_files(tables: Tables) -> Iterator[Finding]:
    """What the size of HfFileSystem's blocks does to a sample's bytes, requests and time."""
    read = tables["hub_files"]
    read = read[(read["outcome"] == "completed") & read["bytes_per_sample"].notna() & (read["opener"] == "filesystem")]
    for keys, group in read.groupby(["experiment", "stack", "repository", "latency_ms"], sort=False):
        blocks = {int(str(block)): lines.median(numeric_only=True) for block, lines in group.groupby("block_kb")}
        sizes = {block: float(line["bytes_per_sample"]) for block, line in blocks.items()}
        least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        if sizes[most] < (1 + MATTERS) * sizes[least]:
            continue
        said = [
            f"{block:,} KiB: {line['bytes_per_sample'] / 1e3:,.0f} kB in {line['requests_per_sample']:.2f} requests "
            f"and {1e3 * line['s_per_sample']:,.0f} ms"
            for block, line in blocks.items()
        ]
        yield Finding(
            f"Blocks of {most:,} KiB receive {sizes[most] / sizes[least]:.1f} times the bytes of blocks of {least:,} "
            f"KiB ({keys[2]}, latency {keys[3]} ms)",
            f"A sample through HfFileSystem, stack {keys[1]}, medians of {len(group) // len(blocks)} runs. "
            f"Blocks of {'; '.join(said)}. What is read at once by itself is 5,120 KiB.",
            "hub_files",
            str(keys[0]),
            _factor(sizes[most] / sizes[least]),
        )


def _spark(tables: Tables) -> Iterator[Finding]:
    """Steps of Spark's data source that do not work."""
    tried = tables["spark"]
    broken = tried[tried["works"].eq(False).fillna(False)]
    for keys, group in broken.groupby(["experiment", "pyspark_huggingface"], sort=False):
        first = group.iloc[0]
        yield Finding(
            f"pyspark_huggingface {keys[1]} cannot {' and '.join(dict.fromkeys(group['step']))}",
            f"With pyspark {first['pyspark']} and huggingface_hub {first['huggingface_hub']}, against the local "
            f"endpoint: {'; '.join(dict.fromkeys(group['reason']))}.",
            "spark",
            str(keys[0]),
            2.0,
        )


def _share(shares: pd.DataFrame, edit: Any) -> str:
    return f"{edit} {shares.loc[edit, 'off']:.1%} without, {shares.loc[edit, 'on']:.1%} with"


def _rows_lost(tables: Tables) -> Iterator[Finding]:
    """Loaders that do not deliver every row once."""
    loaders = tables["loaders"]
    if "account" not in loaders:
        return
    wrong = loaders[
        (loaders["outcome"] == "completed") & loaders["account"].str.contains(r"\d (?:missing|twice|wrong)")
    ]
    for name, group in wrong.groupby("loader", sort=False):
        line = _lines(group.sort_values("rows_delivered"))[-1]
        yield Finding(
            f"{name} does not deliver every row once: {line['account']}",
            f"Of {line['rows_expected']:,.0f} rows of {line['tokens']}, {line['order']}, {line['workers']:.0f} "
            f"workers, {line['rows_delivered']:,.0f} came; {line['account']} (n = {line['n']}).",
            "loading_accounts",
            str(line["experiment"]),
            50.0,
        )


def _sent(tables: Tables) -> Iterator[Finding]:
    """What handing batches from worker processes to their parent costs: the same loader with workers and without."""
    loaders = tables["loaders"]
    if "rows_per_cpu_s" not in loaders:
        return
    whole = loaders[loaders["rows_per_cpu_s"].notna() & (loaders["limit_percent"] == 0)]
    worst: tuple[float, Line, Line] | None = None
    for _, group in whole.groupby(["experiment", "loader", "order", "page_cache"], sort=False):
        lines = sorted(_lines(group), key=lambda line: float(line["workers"]))
        alone, most = lines[0], lines[-1]
        if alone["workers"] or not most["workers"]:
            continue
        factor = alone["rows_per_cpu_s"] / most["rows_per_cpu_s"]
        if worst is None or factor > worst[0]:
            worst = (factor, alone, most)
    if worst and worst[0] > 1 + MATTERS:
        factor, alone, most = worst
        yield Finding(
            f"{most['loader']}: with {most['workers']:.0f} workers a row costs {factor:,.1f} times the CPU",
            f"{most['order'].capitalize()}, {alone['rows_per_cpu_s']:,.0f} rows per CPU-second without workers, "
            f"{most['rows_per_cpu_s']:,.0f} with {most['workers']:.0f} by {most['start']} (n = {alone['n']} and "
            f"{most['n']}): sending batches costs more than reading them.",
            "loading_cost",
            str(most["experiment"]),
            factor,
        )


def _fastest(tables: Tables) -> Iterator[Finding]:
    """Of each order the loader with most rows per CPU-second, against the best of the libraries."""
    loaders = tables["loaders"]
    if "rows_per_cpu_s" not in loaders:
        return
    sound = loaders[(loaders["account"] == "every row once") & (loaders["limit_percent"] == 0)]
    for keys, group in sound.groupby(["experiment", "order"], sort=False):
        ordered = _lines(group.sort_values("rows_per_cpu_s"))
        libraries = [line for line in ordered if line["loader_kind"] == "library"]
        if not libraries or ordered[-1]["loader_kind"] == "library":
            continue
        best, library = ordered[-1], libraries[-1]
        factor = best["rows_per_cpu_s"] / library["rows_per_cpu_s"]
        yield Finding(
            f"{best['loader']} delivers {factor:,.1f} times the rows per CPU-second of the best library ({keys[1]})",
            f"{best['rows_per_cpu_s']:,.0f}, {best['share_of_limit']:.0%} of reading without a loader, with "
            f"{best['workers']:.0f} workers and {best['end_pss_bytes'] / MB:,.0f} MB of PSS; {library['loader']}: "
            f"{library['rows_per_cpu_s']:,.0f} with {library['workers']:.0f} workers and "
            f"{library['end_pss_bytes'] / MB:,.0f} MB (n = {best['n']} and {library['n']}).",
            "loading_cost",
            str(keys[0]),
            factor,
        )


def _lines(table: pd.DataFrame) -> list[Line]:
    return [{str(key): value for key, value in line.items()} for line in table.to_dict("records")]


SOURCES: tuple[Callable[[Tables], Iterator[Finding]], ...] = (
    _growth,
    _ladders,
    _limits,
    _dedup,
    _hub_files,
    _spark,
    _owners,
    _remedies,
    _encoders,
    _batches,
    _regrowth,
    _gave_up,
    _under_faults,
    _requests,
    _asked_by_workers,
    _worse,
    _reading_ahead,
    _rows_lost,
    _sent,
    _fastest,
)
