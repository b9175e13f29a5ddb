"""`beyond-ram bisect`: the releases of a package between which a script changed."""

import argparse
import contextlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from .. import files
from ..shipped import FILES
from .progress import add_json_to, minutes, show

if TYPE_CHECKING:
    from ..bisect.ladder import Ladder
    from ..bisect.result import Result
    from ..bisect.search import Search, Step
    from ..stacks.inline import Inline

BUDGET_MINUTES = 10.0
ALIASES = {
    "kept": ("end_kept_bytes", "peak_kept_bytes"), "end": ("end_kept_bytes",), "peak": ("peak_kept_bytes",),
    "growth": ("grown_between_marks_bytes",), "wall": ("duration_s",), "cpu": ("cpu_s",), "disk": ("written_bytes",),
    "high-water": ("hwm_sum_bytes",),
}  # fmt: skip
"""Short names of metrics."""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "bisect",
        help="the releases of a package between which a script changed",
        description="Runs a Python file with releases of a package and finds those between which its memory, time, "
        "outcome or answer changed. What it requires stands in it (PEP 723) or behind --with. Exit status 0: steps, or "
        "no step; 2: cannot say.",
    )
    add_script_to(parser)
    parser.add_argument("--package", required=True, metavar="NAME", help="the package whose releases are tried")
    for side in ("good", "bad"):
        parser.add_argument(f"--{side}", required=True, metavar="VERSION", help="an end of the releases, in any order")
    parser.add_argument(
        "--metric", nargs="+", action="extend", default=[], metavar="M",
        help=f"only these: {', '.join(ALIASES)}, outcome, answer, or any metric of runs (default: these, without "
        "high-water)",
    )  # fmt: skip
    parser.add_argument(
        "--also", nargs="+", action="extend", default=[], metavar="NAME",
        help="packages that may move with it: each as of the release's own date",
    )  # fmt: skip
    add_limit_to(parser)
    add_budget_to(parser, "results-bisect")
    add_json_to(parser, "bisect.json")
    parser.set_defaults(run=run)


def add_script_to(parser: argparse.ArgumentParser) -> None:
    """The script, its arguments and what it requires."""
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="any Python file")
    parser.add_argument(
        "--with", dest="more", nargs="+", action="extend", default=[], metavar="REQ", help="what it requires beside"
    )
    add_stack_to(parser)
    parser.add_argument("--args", default="", metavar="WORDS", help="arguments of the script, as a shell reads them")


def add_stack_to(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stack", metavar="NAME|LOCK", help="packages that it runs with beside: a stack of envs/, or a file of pins"
    )


def add_limit_to(parser: argparse.ArgumentParser) -> None:
    from .watch import limit

    parser.add_argument("--memory-limit", type=limit, metavar="SIZE", help="a run that needs more is killed, as 500M")


def add_budget_to(parser: argparse.ArgumentParser, out: str) -> None:
    """The budget, and where files go."""
    parser.add_argument(
        "--budget", type=minutes, default=BUDGET_MINUTES, metavar="MINUTES",
        help=f"the most that it may take (default: {BUDGET_MINUTES:g})",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"all files (default: {out})")


def run(arguments: argparse.Namespace) -> int:
    """Exit with 0 after a step or a clear "no step", 2 if undecided."""
    from ..bisect.ladder import Ladder, range_of
    from ..bisect.search import ANSWER, OUTCOME, REQUIRED, Search
    from ..folders import anew, check
    from ..stacks import index

    script, words, inline = script_of(arguments)
    metrics, out = chosen(arguments.metric), arguments.out.absolute()
    check(out)
    with index.for_uv():
        show(f"asking the package index for {arguments.package}")
        releases = range_of(arguments.package, arguments.good, arguments.bad)
        with anew(out):
            ladder = Ladder(script, words, inline, releases, arguments.also, out, 60 * arguments.budget,
                            arguments.memory_limit, _asked(arguments), show)  # fmt: skip
            ladder.begin()
            wanted = [*metrics, *(() if arguments.metric else (ANSWER,)), *(() if OUTCOME in metrics else (OUTCOME,))]
            yanked = [one.text for one in releases.releases if one.yanked]
            needed = [one for one in metrics if one not in (OUTCOME, ANSWER)] if arguments.metric else REQUIRED
            search = Search(releases.versions, list(dict.fromkeys(wanted)), ladder.weigh, yanked, needed)
            search.run(ladder.budget_s, secrets.randbits(32), ladder.used_s)
            result = _result(search, ladder)
            show("")
            _write(result, out)
    print("\n".join([*result.lines(), f"files: {arguments.out}"]))
    return result.status


def script_of(arguments: argparse.Namespace) -> "tuple[Path, list[str], Inline]":
    """The script, its arguments and what it requires. Raises ValueError, StackError."""
    import shlex

    from ..stacks.inline import read

    script = arguments.script.absolute()
    check_file(arguments.script)
    try:
        words = shlex.split(arguments.args)
    except ValueError as error:
        raise ValueError(f"--args cannot be split into words: {error}") from None
    return script, words, read(script, arguments.more, stack_of(arguments))


def check_file(script: Path) -> None:
    """Raise ValueError where a script cannot be run several times."""
    from ..text import did_you_mean

    if not script.exists():
        near = [path.name for path in script.parent.glob("*.py")]
        raise ValueError(f"there is no file {script}{did_you_mean(script.name, near)}")
    if script.is_dir():
        raise ValueError(f"{script} is a folder, and has to be a Python file")
    if not script.is_file() or script.absolute().parts[1] in ("dev", "proc"):
        raise ValueError(f"{script} can be read once, and a script runs several times: write it into a file")


def stack_of(arguments: argparse.Namespace) -> Path | None:
    """The lock of `--stack`. Raises StackError, ValueError."""
    from ..stacks.locks import ENVS, lock_of

    if arguments.stack is None:
        return None
    file = Path(arguments.stack).absolute()
    return file if file.is_file() else lock_of(arguments.stack, FILES / ENVS)


def _asked(arguments: argparse.Namespace) -> list[str]:
    """The options that say what the script runs with, for another command."""
    stack = ["--stack", arguments.stack] if arguments.stack else []
    return [*(["--args", arguments.args] if arguments.args else []), *stack, "--with", *arguments.more]


def chosen(names: list[str]) -> list[str]:
    """The metrics of some names; by default those of the workload `script`. Raises ValueError."""
    from ..bisect.search import ANSWER, OUTCOME
    from ..experiment.workloads.script import ScriptExperiment
    from ..metrics import METRICS
    from ..metrics.runs import FAILED
    from ..text import did_you_mean

    available = [*ALIASES, OUTCOME, ANSWER, *(name for name, one in METRICS.items() if "runs" in one.tables)]
    for name in names:
        if name not in available:
            hint, short = did_you_mean(name, available), ", ".join([*ALIASES, OUTCOME, ANSWER])
            raise ValueError(f"--metric {name!r} is no metric{hint} (there are {short})")
    decided = [name for name, one in METRICS.items() if one.decided_in(ScriptExperiment.name()) and name != FAILED]
    return list(dict.fromkeys(metric for name in names for metric in ALIASES.get(name, (name,)))) or decided


def _result(search: "Search", ladder: "Ladder") -> "Result":
    """The result; of each step, the first prerelease between its ends that has it is looked for."""
    from ..bisect.result import Result

    return Result(search, ladder, {step: _early(search, ladder, step) for step in search.steps()})


def _early(search: "Search", ladder: "Ladder", step: "Step") -> str:
    from ..bisect.search import NotInstallableError

    metric, side = step.interval.metric, step.second
    for release in ladder.releases.between(step.interval.first, step.interval.second):
        if not ladder.fits([release.text]):
            return ""
        with contextlib.suppress(NotInstallableError):
            if release.text not in search.runs:
                search.runs[release.text] = [ladder.weigh(release.text, 1)]
            if _nearer(search, release.text, metric, step.first, side):
                return release.text
    return ""


def _nearer(search: "Search", version: str, metric: str, first: float | str, second: float | str) -> bool:
    """Whether a release is on the later side of a step."""
    from ..bisect.search import ANSWER, OUTCOME

    if metric in (OUTCOME, ANSWER):
        value = search.outcome(version) if metric == OUTCOME else search.answer(version)
        return value == second
    if not any(metric in run.values for run in search.runs[version]):
        return False
    value_now = search.value(version, metric)
    return abs(value_now - float(second)) < abs(value_now - float(first))


def _write(result: "Result", out: Path) -> None:
    from ..bisect.picture import draw

    files.write(out / "bisect.json", json.dumps(result.as_json(), indent=1) + "\n")
    files.write(out / "bisect.md", result.markdown())
    draw(result, out)
