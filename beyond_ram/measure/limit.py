"""Find the smallest memory limit under which a cell completes, by bisection with real limits."""

import contextlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ..files import end_of, read_json, write
from ..folders import fresh
from ..memory_request import request_of
from ..metrics.limits import ENDED_AT, ended_at
from ..records import cell_runs
from ..records.run_files import RUN_FILES
from ..records.run_json import LimitEntry, RunRecord
from ..watch import LimitError, WatchOptions, write_record
from .campaign import RUNS, Campaign
from .cell import Setting, check_end, finish, prepare, run_once
from .files_read import FilesRead
from .plan import Block, Member, Run, WantedError
from .private import private_folder
from .scripts import ERRORS, failure

# Stop at this ratio of the smallest sufficient limit to the largest insufficient limit.
TOLERANCE = 0.03
# The largest step away from the guess is the tolerance to this power, 1.27. A search for speed goes up by the next one.
_MOST_STEPS, _UP = 8, 1.3
_FLOOR_BYTES = 8 << 20
# Close to its limit a program can read the same pages again and again. A run counts as not completed if it takes this
# many times as long as without a limit, plus some seconds.
_PATIENCE, _PATIENCE_S = 10, 5
# Near its limit a program completes in one run and not in the next. A limit is enough if this many runs complete.
COMPLETIONS = 3
# Lead in pairs that decides the answer, and the maximum number of pairs. If noise reverses one pair in five, a lead of
# three is wrong in 1.5 % of all cases.
_LEAD, _PAIRS = 3, 9
# End a run that is this many times slower than allowed. It loses its pair.
_TOO_SLOW = 3
_FREE = "no limit"
_FIRST, _PROBE, _PAIR = "first run", "under a limit", "speed"
"""Blocks: the run that is asked about, one under a limit, one with and one without."""
_RECORD = "first.json"
"""The record of the first run, in the folder of the campaign, with the files that it was seen to read."""
_NOTHING = dict.fromkeys(("waited_s", "read_bytes", "cgroup_bytes", "from_cache_bytes"))


def measure_limit(
    setting: Setting, runs: Path, campaign: Campaign | None = None, budget_s: float = math.inf
) -> RunRecord:
    """Measure a run without a limit, then search the smallest limit; write both into run.json, and return that.

    Goes on with the runs of a campaign; a first run that failed is made again. Every run starts fresh: a private
    folder, prepared input, none of it in the page cache, nor of the other files that the first run was seen to read.
    (The kernel does not charge a run for pages that another process has read.) Raises MeasuringError if a run was ended
    from outside.
    """
    out = runs / setting.job.path
    with contextlib.ExitStack() as stack:
        if campaign is None:
            campaign = Campaign(stack.enter_context(private_folder(setting.work, f"limit/{setting.job.path}")), 0)
        policy = LimitPolicy(setting.job.path.partition("/")[0], setting.job.limit_speed_share)
        campaign.once = LimitRuns(setting, out, campaign).once
        campaign.runs = [run for run in campaign.runs if run.block != _FIRST or not run.reason]
        try:
            campaign.run(policy, budget_s)
        except LimitError as reason:
            policy.search["not_run"] = str(reason)
        record: RunRecord = read_json(campaign.out / _RECORD, "record")["record"]
    if record["outcome"] != "not_applicable":
        record["limit"] |= cast(LimitEntry, policy.search | {"out_of_budget": campaign.out_of_budget})
    record["measuring_s"] = round(time.monotonic() - setting.began, 3)
    write_record(record, out)
    return record


@dataclass
class LimitPolicy:
    """The policy: a run without a limit, then searches for the smallest limit under which it completes, and under which
    it keeps a `share` of its speed. Sides are limits in bytes."""

    case: str
    share: float | None
    search: dict[str, Any] = field(default_factory=dict)
    """What is known, for run.json."""
    _left: list[Run] = field(default_factory=list)

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The next block: the search is made again over the runs so far, up to the first that is missing."""
        self._left = list(runs)
        try:
            self._search()
        except WantedError as wanted:
            return [wanted.block]
        return []

    def _get(self, name: str, *limits: int | None) -> list[dict[str, Any]]:
        """The runs of the next block."""
        if not self._left:
            sides = tuple(Member(self.case, str(limit) if limit else _FREE) for limit in limits)
            raise WantedError(Block(name, sides, must=name == _FIRST))
        made, self._left = self._left[: len(limits)], self._left[len(limits) :]
        return [_NOTHING | {"outcome": run.outcome, "reason": run.reason} | dict(run.values) for run in made]

    def _search(self) -> None:
        """Bisect geometrically between a sufficient and an insufficient limit."""
        (free,) = self._get(_FIRST, None)
        if free["outcome"] == "not_applicable" or free["reason"]:
            self.search = {"not_run": free["reason"]}
            return
        search: dict[str, Any] = {"tolerance": TOLERANCE, "probes": []} | bounds([])
        self.search = search
        limit: int | None = max(free["kept_bytes"], _FLOOR_BYTES)
        while limit:
            search["probes"] += self._get(_PROBE, limit)
            search |= bounds(search["probes"])
            too_small, completed = largest_too_small(search), search["completed_at_bytes"]
            limit = next_limit(too_small, completed, len({probe["limit_bytes"] for probe in search["probes"]}))
            if limit is None and search["completed_runs"] < COMPLETIONS:
                limit = completed
        if not self.share:
            return
        # Between the smallest limit that completes and the most memory that the cgroup used without a limit.
        search |= {"speed_share": self.share, "slowed_at_bytes": None, "speed_kept_at_bytes": None, "speed_probes": []}
        limit = search["completed_at_bytes"]
        most = max(free["most_bytes"], round(search["completed_at_bytes"] * (1 + TOLERANCE)))
        while limit and (keeps := self._keeps_speed(limit, self.share)) is not None:
            search["speed_kept_at_bytes" if keeps else "slowed_at_bytes"] = limit
            limit = _next_speed_limit(search["slowed_at_bytes"], search["speed_kept_at_bytes"], most)

    def _keeps_speed(self, limit: int, share: float) -> bool | None:
        """Whether the work keeps `share` of its speed under a limit, from pairs of runs with and without the limit.

        None if a run without a limit failed.

        Each pair says yes or no. The answer with a lead of `_LEAD` pairs wins. After `_PAIRS` pairs without a winner
        the limit counts as too small.
        """
        lead = 0
        for number in range(_PAIRS):
            sides = (None, limit) if number % 2 == 0 else (limit, None)
            pair = dict(zip(sides, self._get(_PAIR, *sides), strict=True))
            free, limited = pair[None], pair[limit]
            if not free["completed_work"]:
                self.search["speed_not_run"] = f"a run without a limit failed: {free['reason']}"
                return None
            is_fast = limited["completed_work"] and free["work_s"] >= share * limited["work_s"]
            lead += 1 if is_fast else -1
            self.search["speed_probes"].append(
                {"limit_bytes": limit, "without_limit_s": free["work_s"], "at_limit_s": limited["work_s"],
                 "outcome": limited["outcome"], "waited_s": limited["waited_s"], "kept": is_fast}
            )  # fmt: skip
            if abs(lead) == _LEAD:
                return lead > 0
        return False


def bounds(probes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By outcome the largest limit that did not suffice; the smallest one above, in bytes, and its runs."""
    ends: dict[str, Any] = dict.fromkeys(ENDED_AT.values())
    for probe in probes:
        if not probe["completed_work"]:
            ends[ended_at(probe)] = max(ends[ended_at(probe)] or 0, probe["limit_bytes"])
    enough = [probe["limit_bytes"] for probe in probes if probe["limit_bytes"] > (largest_too_small(ends) or 0)]
    smallest = min(enough, default=None)
    return ends | {"completed_at_bytes": smallest, "completed_runs": enough.count(smallest)}


def largest_too_small(limits: Mapping[str, Any]) -> int | None:
    """The largest limit under which a run did not complete, in bytes; None if none was tried."""
    return max(filter(None, map(limits.get, ENDED_AT.values())), default=None)


def _next_speed_limit(slowed: int | None, fast: int | None, most: int) -> int | None:
    """The next limit to try in bytes; None if the search is finished."""
    if slowed is None:
        return None
    if fast is None:
        # With all the memory that it ever used, the work waits for nothing. A larger limit would only fit noise.
        return max(most, round(slowed * _UP)) if slowed < most * _UP else None
    return round(math.sqrt(slowed * fast)) if fast > slowed * (1 + TOLERANCE) else None


def next_limit(too_small: int | None, completed: int | None, tried: int) -> int | None:
    """The next limit to try in bytes; None if the search is finished.

    The guess is mostly right, so the first step away from it is the tolerance, and each further one the square of the
    last, until a limit is sufficient and another is not.
    """
    step = (1 + TOLERANCE) ** min(2 ** (tried - 1), _MOST_STEPS)
    if completed is None:
        return int((too_small or _FLOOR_BYTES) * step)
    if too_small is None:
        return max(math.ceil(completed / step), _FLOOR_BYTES) if completed > _FLOOR_BYTES else None
    return round(math.sqrt(too_small * completed)) if completed > too_small * (1 + TOLERANCE) else None


@dataclass
class LimitRuns:
    """Makes the runs."""

    setting: Setting
    out: Path
    """The folder of the run without a limit."""
    campaign: Campaign

    def once(self, member: Member, number: int, block: str) -> Run:
        """Make a run. Raises MeasuringError, LimitError."""
        began, folder = time.time(), f"{RUNS}/limit~{member.side.replace(' ', '-')}/rep~{number}"
        made = self._first() if block == _FIRST else self._further(member, block, self.campaign.out / folder)
        values = {name: value for name, value in made.items() if isinstance(value, int | float)}
        folder = f"{RUNS}/{self.setting.job.path}" if block == _FIRST else folder
        return Run(member, number, block, made["outcome"], made["reason"], None, values, began, time.time(), folder)

    def _first(self) -> dict[str, Any]:
        """The run without a limit. Its record waits for the limits."""
        with private_folder(self.setting.work, self.setting.job.path) as work:
            prepare(self.setting, work)
            files_read = FilesRead()
            how = WatchOptions(on_event=files_read.at_event, needed=files_read.look)
            record = run_once(self.setting, work, self.out, how)
            check_end(self.setting.job, record)
            made: dict[str, Any] = {"outcome": record["outcome"], "reason": ""}
            if record["outcome"] != "not_applicable":
                request, peak = request_of(record), record["peak"]
                request_bytes = None if request.at_least else request.request_bytes
                record["limit"] = {"request_bytes": request_bytes, "from_cache_bytes": from_cache_bytes(record)}
                made |= {"kept_bytes": request.kept_bytes, "work_s": record["duration_s"]}
                made |= {"most_bytes": max(peak["cgroup_bytes"] or 0, peak["rss_bytes"] or 0)}
            reason = _reason(work, record)
            finish(self.setting, work, self.out, record)
            if record["outcome"] != "not_applicable" and not record["completed_work"]:
                record["reason"] = made["reason"] = reason or record.get("reason") or record["outcome"]
        read = [str(path) for path in files_read.outside(self.setting.work)]
        (self.out / RUN_FILES[2]).unlink()
        write(self.campaign.out / _RECORD, json.dumps({"record": record, "files_read": read}) + "\n")
        return made

    def _further(self, member: Member, block: str, out: Path) -> dict[str, Any]:
        """A run with or without a limit."""
        first = read_json(self.campaign.out / _RECORD, "record", "files_read")
        setting = replace(self.setting, reads=(*self.setting.reads, *map(Path, first["files_read"])))
        limit, share = None if member.side == _FREE else int(member.side), setting.job.limit_speed_share
        timeout_s = _PATIENCE * first["record"]["duration_s"] + _PATIENCE_S if block == _PROBE else None
        if block == _PAIR and limit and share:
            slowest_s = max(run.values["work_s"] for run in self.campaign.runs if run.member.side == _FREE)
            timeout_s = _TOO_SLOW * slowest_s / share + _PATIENCE_S
        return _probe(setting, out, limit, timeout_s)


def _reason(work: Path, record: RunRecord) -> str:
    """Why a run failed, by its errors, if the program writes them into its work folder; else empty."""
    apart = record["outcome"] == "failed" and (work / ERRORS).is_file()
    return failure(end_of(work / ERRORS), record) if apart else ""


def _probe(setting: Setting, out: Path, limit_bytes: int | None, timeout_s: float | None) -> dict[str, Any]:
    """Run once in fresh folders, with or without a limit."""
    fresh(out)
    with private_folder(setting.work, f"run/{setting.job.path}") as work:
        prepare(setting, work)
        record = run_once(setting, work, out, WatchOptions(memory_limit_bytes=limit_bytes, timeout_s=timeout_s))
        reason = "" if record["completed_work"] else _reason(work, record) or record["outcome"]
    done_s = [event["t_s"] for event in cell_runs.events(out) if event["event"] == "work"]
    check_end(setting.job, record)
    write_record(record, out)
    return {
        "limit_bytes": limit_bytes,
        "outcome": record["outcome"],
        "reason": reason,
        "completed_work": record["completed_work"],
        "duration_s": record["duration_s"],
        # Until the work was done; excludes later measurements.
        "work_s": done_s[-1] if done_s else record["duration_s"],
        "waited_s": (record.get("pressure") or {}).get("some_s"),
        "major_faults": record["faults"]["major"],
        "read_bytes": record["storage"]["read_bytes"],
        "cgroup_bytes": record["peak"]["cgroup_bytes"],
        "from_cache_bytes": from_cache_bytes(record),
    }


def from_cache_bytes(record: RunRecord) -> int | None:
    """About how many bytes a run read or mapped that came from the page cache, and were not charged to it; None if
    unknown. What it reads twice and what comes through pipes counts too; what the kernel reads ahead hides as much."""
    storage, mapped = record["storage"], record["peak"].get("file_bytes")
    read, returned = storage["read_bytes"], storage.get("returned_bytes")
    return None if read is None or returned is None or mapped is None else max(0, returned + mapped - read)
