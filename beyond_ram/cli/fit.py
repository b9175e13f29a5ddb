"""`beyond-ram fit`: which settings of a program fit into the memory that there is, and which of these is fastest."""

import argparse
import shutil

from .options import add_budget_to, add_json_to, finish, limit, show
from .programs import no_start, remove_own_path

EXTRA = "fit"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "fit",
        help="which settings of a program fit into the memory that there is",
        description="Runs a program a few times with small input, and predicts the memory that each setting keeps at "
        "full size. Exit status 0: a setting fits, 1: none, 2: cannot say.",
        usage="beyond-ram fit --memory SIZE [--vary NAME=V,V…]… [--grow NAME=A..B] [--budget MINUTES] [--largest N]\n"
        "                      [--confirm] [--out DIR] -- COMMAND with {NAME}",
    )
    parser.add_argument("--memory", type=limit, required=True, metavar="SIZE", help="what there is, as 64G")
    parser.add_argument(
        "--vary", type=_named, action="append", default=[], metavar="NAME=V,V",
        help="a setting and its values, as workers=0,2,4",
    )  # fmt: skip
    parser.add_argument(
        "--grow", type=_named, action="append", default=[], metavar="NAME=A..B",
        help="the size of the input: small runs begin at A, the answer is for B, as rows=100k..50M",
    )  # fmt: skip
    parser.add_argument("--largest", metavar="N", help="no small run has a larger size (default: what the time allows)")
    parser.add_argument(
        "--confirm", action="store_true", help="then run the best setting at full size, limited to the requested memory"
    )
    add_budget_to(parser, "results-fit", "the most that all runs may take", "all files, which a later call uses again")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command, after --")
    add_json_to(parser, "fit.json")
    parser.set_defaults(run=run)


def _named(text: str) -> str:
    """Words behind a name without = would be read as the command."""
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} has no =; write it as workers=0,2,4 or rows=100k..50M")
    return text


def run(arguments: argparse.Namespace) -> int:
    """Exit with 0 if a setting fits, 1 if none does, 2 if it is unsure."""
    from ..fit import answer, factors, runs
    from ..measure.campaign import opened, words_of

    plan = factors.plan(arguments.command, arguments.vary, arguments.grow)
    largest = factors.number(arguments.largest, "--largest") if arguments.largest else None
    remove_own_path()
    if not shutil.which(plan.command[0]):
        raise ValueError(no_start(plan.command[0], call="beyond-ram fit … --"))
    if largest and (not plan.growth or largest < 2 * plan.growth.first):
        raise ValueError("--largest: at least twice the first size of --grow")
    out = arguments.out.absolute()
    question = {"command": "fit", "program": words_of(plan.command)}
    question |= {"a_file_of_the_program": runs.files_digest(plan.command)}
    with opened(out, question) as campaign:
        earlier = len(campaign.runs)
        policy = answer.FitPolicy(
            plan, arguments.memory, 60 * arguments.budget, largest, arguments.confirm, out, earlier
        )
        campaign.show, campaign.once = show, policy.once
        campaign.run(policy, policy.budget_s)
        result, confirmed = policy.answer, policy.confirmed
        document, lines = answer.no_answer(policy.unanswered), [f"cannot say: {policy.unanswered}"]
        if result:
            document, lines = answer.as_json(result, confirmed), [*answer.text(result, confirmed)]
        if earlier:
            imports = f"if what the program imports has changed, remove {arguments.out}"
            lines.append(f"{earlier} runs are of an earlier call: {imports}")
        if result and policy.unanswered:
            lines.append(f"not confirmed: {policy.unanswered}")
        finish(arguments, document, lines)
    if result and result.best and arguments.confirm:
        return 0 if confirmed and confirmed.outcome == "completed" else 2
    return result.status if result else 2
