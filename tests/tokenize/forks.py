"""Run by a stack's interpreter: the engine's calls, each a fork of a process that has imported the libraries.

A line of stdin is a call as JSON: its words, folder, environment, and the files that its output goes to; the answer is
a line with its exit status. Tests of signals start the engine themselves.
"""

import gc
import json
import os
import runpy
import sys

import numpy  # noqa: F401
import pyarrow.csv
import pyarrow.parquet  # noqa: F401
import tokenizers  # noqa: F401
import xxhash  # noqa: F401


def become(words, folder, environment, files):
    """Be the process of a call. Does not return."""
    for number, file in enumerate([os.devnull, *files]):
        os.dup2(os.open(file, os.O_RDWR), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.path[0] = words, os.path.dirname(words[0])  # noqa: PTH120
    status = 1
    try:
        runpy.run_path(words[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    gc.freeze()
    for line in sys.stdin:
        if not (child := os.fork()):
            become(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
