"""`beyond-ram limit`: the smallest memory limit under which a script completes."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..memory_request import mem
from ..records.run_json import RunRecord
from .options import add_budget_to, add_json_to, finish, number, show
from .script_options import add_script_to, question_of, script_of, setting_of

SHARE = 0.9
# The interpreter and its libraries, which other processes use too.
_LITTLE_BYTES = 16 << 20


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "limit",
        help="the smallest memory limit under which a script completes",
        description="Runs a Python file under memory limits and finds the smallest one under which it completes, and "
        "the smallest one at which it keeps most of its speed. What it requires stands in it (PEP 723) or behind "
        "--with. Exit status 0: limit measured, 2: cannot say.",
    )
    add_script_to(parser)
    parser.add_argument(
        "--share", type=_share, default=SHARE, metavar="S",
        help=f"the share of its speed that it keeps at the second limit; 0: not looked for (default: {SHARE:g})",
    )  # fmt: skip
    parser.add_argument(
        "--input", type=Path, nargs="+", action="extend", default=[], metavar="FILE",
        help="files and folders that it reads: evicted from the page cache before each run, beside those that it was "
        "seen to read",
    )  # fmt: skip
    add_budget_to(parser, "results-limit")
    add_json_to(parser, "limit.json")
    parser.set_defaults(run=run)


def _share(text: str) -> float:
    if not 0 <= (value := number(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a share is from 0 to below 1, such as 0.9")
    return value


def run(arguments: argparse.Namespace) -> int:
    """The exit status: 0 with a limit, 2 without."""
    from ..measure.campaign import opened
    from ..measure.limit import measure_limit
    from ..measure.scripts import errors_apart
    from ..stacks import index

    script, words, inline = script_of(arguments)
    out, share = arguments.out.absolute(), arguments.share or None
    inputs = [path.absolute() for path in arguments.input]
    if absent := next((path for path in inputs if not path.exists()), None):
        raise ValueError(f"there is no input {absent}")
    question = question_of("limit", script, words, inline, share=share, inputs=list(map(str, inputs)))
    with opened(out, question) as campaign, index.for_uv():
        campaign.show = show
        setting = errors_apart(setting_of("limit", script, words, inline, out))
        job = setting.job.but(find_limit=True, limit_speed_share=share, page_cache="cold")
        setting = replace(setting, job=job, reads=(out / "stacks", *inputs))
        record = measure_limit(setting, out / "runs", campaign, 60 * arguments.budget)
        limits: dict[str, Any] = {**record.get("limit", {})}
        finish(arguments, {"script": script.name, **limits}, _lines(limits, record))
    return 0 if limits.get("completed_at_bytes") else 2


def _lines(limits: dict[str, Any], record: RunRecord) -> list[str]:
    """The limits in short lines."""
    from ..measure.campaign import SPENT
    from ..measure.limit import largest_too_small
    from ..units import MB, percent

    if reason := limits.get("not_run"):
        failed = "the script failed without a limit: " if not record["completed_work"] else ""
        return [f"cannot say: {failed}{reason}"]
    spent = [SPENT] if limits.get("out_of_budget") else []
    if not limits.get("completed_at_bytes"):
        return [f"cannot say: {SPENT}" if spent else "cannot say: no run completed under a limit"]
    below, runs = largest_too_small(limits), limits["completed_runs"]
    killed = f"; not at {below / MB:,.1f} MB" if below else ""
    slowest = f"{_at_limit(limits)['duration_s']:.2f} s"
    times = f"in {runs} runs of at most {slowest}" if runs > 1 else f"in one run of {slowest}"
    tried = len(limits["probes"])
    all_runs = f"{tried} run{'s' * (tried > 1)}"
    lines = [f"completes at {limits['completed_at_bytes'] / MB:,.1f} MB {times}{killed}; {all_runs}"]
    lines.append(_cache_line(limits))
    if fast := limits.get("speed_kept_at_bytes"):
        share, pairs = percent(limits["speed_share"]), len(limits["speed_probes"])
        lines.append(f"keeps {share} of its speed at {fast / MB:,.1f} MB, {pairs} pairs of runs")
    elif limits.get("speed_share"):
        why_not = limits.get("speed_not_run") or "not shown at any limit that was tried"
        lines.append(f"{percent(limits['speed_share'])} of its speed: {why_not}")
    # Samples miss short peaks, which the limits met.
    request_bytes = max(limits["request_bytes"] or 0, limits["completed_at_bytes"])
    warm = ", page cache warm" if _is_warm(limits.get("from_cache_bytes"), request_bytes) else ""
    lines.append(
        f"without a limit: {record['duration_s']:.2f} s{warm}; ask for --mem={mem(int(request_bytes))} (M is MiB)"
    )
    return lines + spent


def _at_limit(limits: dict[str, Any]) -> dict[str, Any]:
    """The slowest run under the smallest limit that it completed."""
    completed = (one for one in limits["probes"] if one["limit_bytes"] == limits["completed_at_bytes"])
    return max(completed, key=lambda one: one["duration_s"])


def _cache_line(limits: dict[str, Any]) -> str:
    """Whether the run at the limit began with a cold page cache, as its reads from the disk show."""
    from ..units import MB

    completed, probe = limits["completed_at_bytes"], _at_limit(limits)
    size = probe["from_cache_bytes"]
    if size is None:
        return "page cache: this kernel does not tell whether it was cold; a cold machine may need more"
    if not _is_warm(size, completed):
        return f"page cache: cold; {probe['read_bytes'] / MB:,.1f} MB were read from disk"
    return (
        f"page cache: warm; about {size / MB:,.1f} MB that it read came from there, of files that could not be named "
        "or evicted: a cold machine may need so much more; name them with --input"
    )


def _is_warm(from_cache_bytes: int | None, memory_bytes: float) -> bool:
    from ..measure.limit import TOLERANCE

    return from_cache_bytes is not None and from_cache_bytes > max(_LITTLE_BYTES, TOLERANCE * memory_bytes)
