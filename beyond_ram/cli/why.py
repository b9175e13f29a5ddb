"""`beyond-ram why`: what holds the memory of a script at its end."""

import argparse
import re
from collections.abc import Iterator

from ..records.run_json import StepEntry, WhyEntry
from .options import add_budget_to, add_json_to, finish, show
from .script_options import add_script_to, same_script, script_of, setting_of

# The peak is printed if it is above the end by more than this share of it.
_HIGHER = 0.2
_CALLS = 4
# The rest is explained if it is more than this many bytes and more than this share of all: the run itself needs some.
_MUCH_BYTES, _MUCH = 5_000_000, 0.1
# The part of a path that is not printed: everything before the package or, for a script, its folder.
_PATH = re.compile(r"(?<=\()/(?:.*/site-packages/|(?:[^/:]+/)*)")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "why",
        help="what holds the memory of a script at its end",
        description="Runs a Python file, and at its end releases what it holds, one by one: its names, caches of "
        "libraries, cycles, unused memory of allocators. Each gets what it gave back. With `--with memray`, a second "
        "run names the call sites of the rest. Exit status 0: answered, 2: cannot say, or the script failed.",
    )
    add_script_to(parser)
    add_budget_to(parser, "results-why")
    add_json_to(parser, "why.json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """The exit status."""
    from ..measure.campaign import opened
    from ..measure.why import explain
    from ..stacks import index

    script, words, inline = script_of(arguments)
    out = arguments.out.absolute()
    with opened(out, same_script("why", script, words)), index.for_uv():
        result = explain(setting_of("why", script, words, inline, out), out, 60 * arguments.budget, show)
        finish(arguments, {"script": script.name, **result}, lines(script.name, result))
    return 2 if result["error"] else 0


def lines(name: str, result: WhyEntry) -> Iterator[str]:
    """The result in short lines."""
    from ..analysis.holders import cause_of

    if error := result["error"]:
        from ..measure.scripts import missing_package

        yield f"{name} failed: {error}{missing_package(error)}; what follows is of its end"
    yield f"{name}: {_mb(result['end_bytes'])} of heap at its end, {_mb(result['start_bytes'])} at its start"
    cause, owner = cause_of(result)
    yield f"cause of the growth since the imports: {cause}" + (f", by {owner}" if owner else "")
    steps = sorted(result["steps"], key=lambda step: (step["kind"] == "others", -step["released_bytes"]))
    for step in steps:
        yield f"{_mb(step['released_bytes']):>10}  {_holder(step)}"
    yield from _stayed(result, cause)
    if result["threads"]:
        yield f"other threads ran on: {result['threads']}; less than {_mb(result['floor_bytes'])} is not named"
    for one in result["processes"]:
        if one["private_bytes"] >= result["floor_bytes"]:
            process = f"{_mb(one['private_bytes'])} in another process, {one['pid']}: {one['name']}"
            yield f"also {process}; what holds it there was not looked for"
    if (more := result["peak_bytes"] - result["end_bytes"]) > _HIGHER * result["peak_bytes"]:
        # The run's peak, from outside: releasing takes memory too, and shared pages count in each process.
        yield f"the peak was {_mb(more)} higher, in the script or while its memory was released"
    yield from _sites(result)


def _sites(result: WhyEntry) -> Iterator[str]:
    """The call sites that memray has seen."""
    for kind, title in (("stayed", "allocated and stayed"), ("peak", "allocated at the peak")):
        for site in result["sites"].get(kind, []):
            calls = [_PATH.sub("", call) for call in site["calls"][:_CALLS]]
            yield f"{title}: {_mb(site['bytes'])} by {' in '.join(calls)}"


def _holder(step: StepEntry) -> str:
    if step["kind"] == "others":
        return "all others together"
    if step["kind"] in ("allocator", "garbage"):
        return str(step["holder"]) if step["kind"] == "allocator" else f"garbage: {step['holder']}"
    text = f"{step['holder']}, {step['kind']}" + (f": {step['type']}" if "type" in step else "")
    if also := step.get("also_held_by"):
        text += f"; {', '.join(also)} held it too"
    before = ", ".join(f"{name} ({_mb(size)})" for name, size in step.get("released_before", {}).items())
    if before or step.get("fragments"):
        text += f"; its objects are {_mb(step['objects_bytes'])}, the rest are pages that they kept in use"
        text += f", with objects that were released before: {before}" if before else ""
    return text


def _stayed(result: WhyEntry, cause: str) -> Iterator[str]:
    """The memory that no step released, and its likely owner."""
    stayed = result["stayed_bytes"]
    imports = min(result["imports_bytes"], stayed)
    known = f": {_mb(imports)} came with imports" if imports >= result["floor_bytes"] else ""
    yield f"{_mb(stayed):>10}  stayed{known}"
    if early := result.get("ended_early"):
        yield f"{'':>10}  not all was released: emptying a library ended the process ({early})"
    elif stayed - imports >= max(_MUCH_BYTES, _MUCH * (result["end_bytes"] - result["start_bytes"])):
        hint = "" if result["sites"] else "; `--with memray` names the lines"
        rest = "free, but in pages that are used" if cause == "retained" else "a leak, or native code that keeps it"
        yield f"{'':>10}  no released name held the rest: {rest}{hint}"


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
