"""The endpoint as a process: a signal ends it at any time."""

import signal
import subprocess
import sys

import pytest

# Sends itself a signal just before it waits: while it holds the lock of an event, or before it reads.
PROGRAM = """
import builtins, os, signal, sys
from beyond_ram.hub import __main__ as hub

def look(frame, event, called):
    locked = event == "c_return" and frame.f_code.co_qualname == "Condition.__enter__"
    if locked or (event == "c_call" and called is os.read):
        sys.setprofile(None)
        os.kill(os.getpid(), NUMBER)

def ready(*words, say=print, **how):
    say(*words, **how)
    sys.setprofile(look)

builtins.print = ready
NUMBER = int(sys.argv.pop())
sys.argv += ["--root", "."]
sys.exit(hub.main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_just_before_waiting_ends_the_endpoint(tmp_path, number):
    command = [sys.executable, "-c", PROGRAM, str(int(number))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False)
    assert "HF_ENDPOINT=http://127.0.0.1:" in done.stdout
    assert done.returncode == 0, done.stderr
