"""`beyond-ram bisect`: the releases of a package between which a script changed."""

import argparse

from ..files import write
from .options import add_budget_to, add_json_to, finish, limit, show
from .script_options import add_script_to, question_of, script_of

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
        help=f"only these: {', '.join(ALIASES)}, outcome, answer, any metric of runs, or a number that the script "
        "reports, by its name in runs (default: these, without high-water, and all numbers that it reports with a "
        "better direction)",
    )  # fmt: skip
    parser.add_argument(
        "--also", nargs="+", action="extend", default=[], metavar="NAME",
        help="packages that may move with it: each as of the release's own date",
    )  # fmt: skip
    parser.add_argument("--memory-limit", type=limit, metavar="SIZE", help="a run that needs more is killed, as 500M")
    add_budget_to(parser, "results-bisect")
    add_json_to(parser, "bisect.json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit with 0 after a step or a clear "no step", 2 if undecided."""
    from ..analysis.rule import searched, searched_reports
    from ..bisect.result import REQUIRED, SearchResult
    from ..measure.campaign import opened
    from ..measure.releases import Ladder, range_of
    from ..measure.screen import ANSWER, OUTCOME
    from ..measure.search import Search
    from ..stacks import index

    script, words, inline = script_of(arguments)
    metrics, out, budget_s = chosen(arguments.metric), arguments.out.absolute(), 60 * arguments.budget
    texts = [OUTCOME, *([ANSWER] if not arguments.metric or ANSWER in metrics else [])]
    numbers = [one for one in metrics if one not in texts]
    with index.for_uv():
        show(f"asking the package index for {arguments.package}")
        releases = range_of(arguments.package, arguments.good, arguments.bad)
        question = question_of(
            "bisect", script, words, inline, package=arguments.package, releases=releases.versions,
            metrics=[*numbers, *texts], also=arguments.also, memory_limit_bytes=arguments.memory_limit,
        )  # fmt: skip
        with opened(out, question) as campaign:
            campaign.show = show
            ladder = Ladder(script, words, inline, releases, arguments.also, campaign, budget_s, arguments.memory_limit)
            campaign.once = ladder.run
            ladder.begin()
            yanked = [one.text for one in releases.releases if one.yanked]
            search = Search(script.name, releases.versions, *searched(numbers), campaign.seed, texts, yanked,
                            reported=None if arguments.metric else searched_reports,
                            is_useless=ladder.is_useless)  # fmt: skip
            campaign.run(search, budget_s)
            result = SearchResult(search, ladder, numbers if arguments.metric else REQUIRED)
            write(out / "bisect.md", result.markdown())
            finish(arguments, result.as_json(), result.lines())
    return result.status


def chosen(names: list[str]) -> list[str]:
    """The metrics of some names; by default those of the workload `script`. Raises ValueError."""
    from ..experiment.workloads.script import ScriptExperiment
    from ..measure.screen import ANSWER, OUTCOME
    from ..metrics import METRICS
    from ..metrics.reported import is_reported
    from ..metrics.runs import FAILED
    from ..text import did_you_mean

    available = [*ALIASES, OUTCOME, ANSWER, *(name for name, one in METRICS.items() if "runs" in one.tables)]
    for name in names:
        if name not in available and not is_reported(name):
            hint, short = did_you_mean(name, available), ", ".join([*ALIASES, OUTCOME, ANSWER])
            raise ValueError(f"--metric {name!r} is no metric{hint} (there are {short})")
    decided = [name for name, one in METRICS.items() if one.decided_in(ScriptExperiment.name()) and name != FAILED]
    return list(dict.fromkeys(metric for name in names for metric in ALIASES.get(name, (name,)))) or decided
