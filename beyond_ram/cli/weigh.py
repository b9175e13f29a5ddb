"""`beyond-ram weigh`: one cell, as the rules call it."""

import argparse
import signal
import sys
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("weigh", help="weigh one cell of an experiment (what the rules call)")
    parser.add_argument("--runs", type=Path, required=True, help="folder of all runs")
    parser.add_argument("--workload", required=True, help="name of the workload")
    parser.add_argument("--program", type=Path, required=True, help="program that is weighed")
    parser.add_argument("--python", required=True, help="interpreter of the stack")
    parser.add_argument("--lock", type=Path, required=True, help="lock of the stack")
    parser.add_argument("--corpus", type=Path, help="prepared corpus")
    parser.add_argument("--tokens", type=Path, help="token dataset")
    parser.add_argument("--reads", type=Path, help="file or folder that the program reads, beside its corpus")
    parser.add_argument("--repository", type=Path, help="repository that an endpoint serves to the run")
    parser.add_argument("--pushes", action="store_true", help="the run writes to its repository: serve it a copy")
    parser.add_argument("--endpoint", help="a Hub of your choice, instead of the local one")
    parser.add_argument("--timeout-s", type=float, help="end a run that takes longer")
    parser.add_argument("--argument", action="append", default=[], help="a further word of the program's command")
    parser.add_argument("--work", type=Path, required=True, help="folder for private work folders")
    parser.add_argument("--interval-ms", type=int, default=20, help="sampling interval in milliseconds")
    parser.add_argument("--prepare", action="store_true", help="run the program with --prepare before, unweighed")
    parser.add_argument("--check", action="store_true", help="run the program with --check afterwards, unweighed")
    parser.add_argument("--find-limit", action="store_true", help="look for the smallest memory limit as well")
    parser.add_argument("paths", nargs="+", help="the run's folder below --runs; two: interrupted and rerun")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..weighing import Setting, processes, weigh, weigh_interrupted, weigh_limit

    # An end that is asked for takes the private folder along.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    processes.end_with_snakemake()
    setting = Setting(
        workload=arguments.workload,
        python=arguments.python,
        program=arguments.program,
        corpus=arguments.corpus,
        tokens=arguments.tokens,
        reads=arguments.reads,
        lock=arguments.lock,
        work=arguments.work,
        prepare=arguments.prepare,
        check=arguments.check,
        interval_ms=arguments.interval_ms,
        repository=arguments.repository,
        pushes=arguments.pushes,
        endpoint=arguments.endpoint,
        timeout_s=arguments.timeout_s,
        arguments=arguments.argument,
    )
    if len(arguments.paths) == 1:
        (weigh_limit if arguments.find_limit else weigh)(setting, arguments.runs, arguments.paths[0])
    else:
        weigh_interrupted(setting, arguments.runs, *arguments.paths)
    return 0
