"""`beyond-ram run`: run the workflow, from any folder."""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .project import project

# With one of these options, snakemake knows how many jobs can run.
_CORES = ("-c", "--cores", "-j", "--jobs", "-e", "--executor", "--profile", "--workflow-profile")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "run",
        help="run the workflow, from any folder",
        usage="beyond-ram run [TARGET…] [--configfile FILE…] [--config KEY=VALUE…] [SNAKEMAKE OPTION…]",
        description="Run snakemake in the project, by default with all cores. Config files and the relative paths in "
        "them, the results included, are relative to the current folder. All other arguments go to snakemake.",
        prefix_chars="\0",  # pass every argument on unchanged
        add_help=False,
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=run, show_help=parser.print_help)


def run(arguments: argparse.Namespace) -> int:
    """Replace this process with snakemake. Returns an exit status only if it cannot be started."""
    if not {"-h", "--help"} & {*arguments.words}:
        command = snakemake(arguments.words, Path.cwd(), project())
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        os.chdir(project())
        check(arguments.words)
        os.execvp(command[0], command)
    arguments.show_help()
    return 0


def check(words: Sequence[str]) -> None:
    """Raise ValueError for an option that is not in snakemake's help; it would answer with 120 lines of usage."""
    from ..text import did_you_mean

    given = filter(re.compile(r"--?[a-zA-Z]\S*").fullmatch, itertools.takewhile(lambda word: word != "--", words))
    names = [word.partition("=")[0] if word[:2] == "--" else word[:2] for word in given]
    if not {*names} <= {*_CORES, "-n", "--configfile", "--config"}:  # the help takes a second
        usage = subprocess.run(["snakemake", "--help"], capture_output=True, text=True, check=True).stdout
        options = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", usage))
        for name in names:
            if not any(option.startswith(name) for option in options):
                raise ValueError(f"no option {name} of beyond-ram run or snakemake{did_you_mean(name, options)}")


def snakemake(words: Sequence[str], folder: Path, project: Path) -> list[str]:
    """The snakemake command for some words that were given in a folder.

    Raises ValueError if a config file is missing or invalid.
    """
    from ..experiment import content_of, load, merge
    from . import Parser

    parser = Parser(prog="beyond-ram run", add_help=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="extend", default=[])
    parser.add_argument("--config", "-C", nargs="+", action="extend", default=[])
    own, others = parser.parse_known_args(list(words))
    for option, value in itertools.pairwise([*others, ""]):
        if (option in _CORES[:4] and value == "0") or re.fullmatch(r"(?:--cores=|--jobs=|-c|-j)0", option):
            raise ValueError("no job can run with 0 cores; give 1 or more")
    files = [folder / file for file in own.configfile]
    for file in files:
        if not file.is_file():
            hint = "; a target stands before --configfile" if not file.suffix else ""
            raise ValueError(f"there is no config file {file}{hint}")
    contents = [content_of(file) for file in files]
    base = _base(folder, contents)
    # Snakemake parses the value as YAML and strips its quotes.
    given = [] if base in (None, project) else [f"folder=!!str {json.dumps(str(base), ensure_ascii=False)} #"]
    if not own.config:  # a fault is one line here, and Snakemake has not started
        overrides = {"folder": str(base)} if given else {}
        merged, read = merge.read([project / "config.yaml"], files, overrides, content_of)
        load(merged, read, project, overrides)
    # Put an option with exactly one value before the targets, so that they are not taken for config files.
    begins = ["--snakefile", str(project / "Snakefile"), "--directory", str(project)]
    cores = [] if any(word.partition("=")[0] in _CORES or word[:2] in ("-c", "-j") for word in others) else ["all"]
    return [
        "snakemake",
        *(["--configfile", *map(str, files)] if files else []),
        *(["--config", *given, *own.config] if given or own.config else []),
        *(["--cores", *cores] if cores else []),
        *begins,
        *others,
    ]


def _base(folder: Path, contents: Sequence[Mapping[str, Any]]) -> Path | None:
    """The folder of relative paths: the caller's, or that of a config file, seen from there; None for a faulty one."""
    own = next((content["folder"] for content in reversed(contents) if "folder" in content), ".")
    return folder / own if isinstance(own, str) and own and own[0] != "~" else None
