"""Run the blocks that a policy names, until it has its answer or the budget is used up.

A campaign's folder has `campaign.json` (its question and the seed of all orders) and `blocks.jsonl` (a line per
complete block). The same question goes on after the last complete block, so that no block spans two calls.
"""

import contextlib
import hashlib
import itertools
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from .. import mask_secrets
from ..files import DamagedError, locked, read_json, write
from ..folders import InUseError, check, ensure, remove
from .plan import COMPLETED, Block, Member, Policy, Run

_PATIENCE, PATIENCE_S = 10, 60
SPENT = "the budget is used up: the same command with a larger --budget goes on"
QUESTION, BLOCKS, RUNS = "campaign.json", "blocks.jsonl", "runs"


class OtherQuestionError(ValueError):
    """The folder holds the runs of another question. The message is one line."""


@dataclass
class Campaign:
    """A question, the runs so far, and the time that they and the building of their sides took, in all calls."""

    out: Path
    seed: int
    once: Callable[[Member, int, str], Run] = lambda member, number, block: Run(member, number, block, "")
    """Runs a member for the n-th time, in a block. What it raises ends the campaign, which can go on."""
    show: Callable[[str], None] = lambda line: None
    clock: Callable[[], float] = time.monotonic
    runs: list[Run] = field(default_factory=list)
    earlier_s: float = 0.0
    """Used by earlier calls."""
    out_of_budget: bool = False
    """Whether blocks were left out."""
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def used_s(self) -> float:
        """Seconds used in all calls."""
        return self.earlier_s + self.clock() - self._began

    @property
    def patience_s(self) -> float | None:
        """The time limit of a run: ten times the longest completed run, and a minute. None before one has completed."""
        completed = [run.ended_at - run.started_at for run in self.runs if run.outcome == COMPLETED]
        return _PATIENCE * max(completed) + PATIENCE_S if completed else None

    def run(self, policy: Policy, budget_s: float) -> None:
        """Run blocks until the policy names none, or none of those that it names fits into the budget."""
        self.out_of_budget = False
        while blocks := policy.next(self.runs):
            before, self.out_of_budget = len(self.runs), False
            for block in blocks:
                if block.must or self.used_s + self._expected_s(block) <= budget_s:
                    self._run(block, f"{self.used_s / 60:.1f} of {budget_s / 60:g} min")
                    if block.ask_again:
                        break
                else:
                    self.out_of_budget = True
            if len(self.runs) == before:
                return

    def _run(self, block: Block, used: str) -> None:
        runs = list[Run]()
        for member in block.members:
            numbers = {one.number for one in (*self.runs, *runs) if one.member == member}
            number = next(number for number in itertools.count(1) if number not in numbers)  # a lost run comes first
            self.show(f"run {len(self.runs) + len(runs) + 1}: {member.case}, {member.side}, {block.name}; {used}")
            runs.append(self.once(member, number, block.name))
        self.runs += runs
        line = {"used_s": round(self.used_s, 3), "runs": [asdict(run) | {"values": _nulls(run.values)} for run in runs]}
        with (self.out / BLOCKS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _expected_s(self, block: Block) -> float:
        """The time of a block: of each member the mean of its runs; of one without runs, the mean of all."""
        times: dict[Member, list[float]] = {}
        for run in self.runs:
            times.setdefault(run.member, []).append(run.ended_at - run.started_at)
        every = fmean(fmean(own) for own in times.values()) if times else 0.0
        return sum(fmean(times[member]) if member in times else every for member in block.members)


@contextlib.contextmanager
def opened(out: Path, question: Mapping[str, Any], seed: int | None = None) -> Iterator[Campaign]:
    """The campaign of a question in its folder: a new one, or that of an earlier call with the same question.

    After an error, a new folder without a complete block is removed. Raises OtherQuestionError where the folder has
    another question, ForeignFolderError, InUseError, DamagedError; then nothing was changed.
    """
    existing = _existing(out, question)
    made = not out.exists()
    ensure(out)
    descriptor = os.open(out / BLOCKS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    campaign = None
    try:
        if locked(descriptor) is False:
            raise InUseError(f"{out} is in use by another process; wait for it, or name another folder")
        runs, used_s = _read(out / BLOCKS)
        if runs and not existing:
            raise DamagedError(f"{out} has runs and no {QUESTION}; remove it, or name another --out")
        drawn = secrets.randbits(32) if seed is None else seed
        campaign = Campaign(out, existing["seed"] if existing else drawn, runs=runs, earlier_s=used_s)
        if not existing:
            _write(out, question, campaign.seed)
        yield campaign
    except BaseException:
        if made and campaign and not os.fstat(descriptor).st_size:
            remove(out)
        raise
    finally:
        os.close(descriptor)


def words_of(command: Sequence[str]) -> list[str]:
    """A command for a question, without secrets; another secret gives another last word, which tells little of it."""
    masked = mask_secrets.in_command(command)
    digest = hashlib.sha256("\0".join(command).encode(errors="surrogateescape")).hexdigest()
    return masked if masked == [*command] else [*masked, digest[:4]]


def _existing(out: Path, question: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an earlier call wrote about the same question; None without one. Raises as `opened` does."""
    check(out)
    if not (out / QUESTION).exists():
        return None
    existing: dict[str, Any] = read_json(out / QUESTION, "question", "seed")
    wanted = json.loads(json.dumps(question))
    if existing["question"] != wanted:
        raise OtherQuestionError(
            f"{out} has runs of another question: {_difference(existing['question'], wanted)}; "
            "name another --out, or remove it"
        )
    return existing


def _write(out: Path, question: Mapping[str, Any], seed: int) -> None:
    write(out / QUESTION, json.dumps({"question": question, "seed": seed}, indent=1) + "\n")


def _difference(existing: Any, wanted: Mapping[str, Any]) -> str:
    """The first part of two questions that differs."""
    if not isinstance(existing, dict):
        return "it cannot be read"
    name = next(name for name in [*wanted, *existing] if existing.get(name) != wanted.get(name))
    one, other = (json.dumps(of.get(name)) for of in (existing, wanted))
    shown = f" was {one}, and is {other}" if max(len(one), len(other)) <= 60 else " differs"
    return f"{name.replace('_', ' ')}{shown}"


def _nulls(values: Mapping[str, float]) -> dict[str, float | None]:
    """Values for JSON, which has only finite numbers."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _read(path: Path) -> tuple[list[Run], float]:
    """The runs of all complete blocks, and the seconds that were used until the last. A cut last line is removed."""
    runs, used_s, whole = list[Run](), 0.0, 0
    text = path.read_bytes() if path.is_file() else b""
    for line in text.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            os.truncate(path, whole)
            break
        try:
            block = json.loads(line)
            for one in block["runs"]:
                values = {name: math.nan if value is None else value for name, value in one["values"].items()}
                runs.append(Run(**one | {"member": Member(**one["member"]), "values": values}))
            used_s = float(block["used_s"])
        except (ValueError, TypeError, KeyError):
            raise DamagedError(f"{path}: a line is damaged; remove the folder, or name another --out") from None
        whole += len(line)
    return runs, used_s
