"""Run by a stack's interpreter: runs of programs, two at a time, in forks of a process that has imported torch.

python together.py < RUNS, a JSON list of [EVENTS, PROGRAM, WORD...]; prints their exit statuses as JSON. An import of
torch takes some seconds of CPU, which a program pays as often as it is started. `load` measures rates for a tenth of
the time.
"""

import gc
import json
import os
import runpy
import sys

AT_ONCE = 2
SHORTER = 10
TIMES = ("WARM_CPU_S", "TRIED_CPU_S", "CEILING_CPU_S")


def start(program):
    if not program.endswith("/load.py"):
        runpy.run_path(program, run_name="__main__")
        return
    import events
    import load

    for name in TIMES:
        setattr(load, name, getattr(load, name) / SHORTER)
    events.run(load.main)


def main():
    import numpy  # noqa: F401
    import torch.utils.data  # noqa: F401

    gc.freeze()  # the programs collect several times: only what they make themselves
    runs = json.load(sys.stdin)
    running, statuses = {}, {}

    def ended():
        pid, status = os.wait()
        statuses[running.pop(pid)] = os.waitstatus_to_exitcode(status)

    for number, (events, program, *words) in enumerate(runs):
        if len(running) == AT_ONCE:
            ended()
        if not (pid := os.fork()):
            os.environ["BEYOND_RAM_EVENTS"] = events
            sys.argv, sys.path[0] = [program, *words], os.path.dirname(program)  # noqa: PTH120
            start(program)
            return
        running[pid] = number
    while running:
        ended()
    print(json.dumps([statuses[number] for number in range(len(runs))]))


if __name__ == "__main__":
    main()
