"""Snakemake and the scripts of its rules as forks of one process that has already imported their libraries.

Imports take three of the four seconds of a plan, and most of the time of a table. Here the commands `snakemake`, and
`python` for scripts of rules, are a small client. It sends its arguments, folder, environment and open files to
that process, which forks a child for it. The child imports the project's own modules from the caller's PYTHONPATH.
Tests of signals, terminals and a killed Snakemake call the real command, and so does .ci/run.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

# Programs below it look for a process with the name `snakemake` (beyond_ram/parent_process.py).
SERVER = Path(__file__).parent / "snakemake"
# `-IS`: without site-packages an interpreter starts in 15 ms.
CLIENT = f"""#!{sys.executable} -IS
import json, os, socket, sys
words = sys.argv[1:]
if sys.argv[0].endswith("python"):
    if words[:2] == ["-m", "snakemake"]:
        words = words[1:]
    elif "/.snakemake/scripts/" not in words[0]:
        os.execv({sys.executable!r}, [{sys.executable!r}, *words])
else:
    words = ["snakemake", *words]
here = os.path.dirname(os.path.abspath(__file__))
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.path.join(here, "socket"))
    message = json.dumps([words, os.path.join(here, "python"), os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(message).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(message)
    status = server.recv(16)
os._exit(int(status) if status else 1)
"""


def start(folder, owner):
    """Put the commands into a folder, and start their server, which ends with the process `owner`."""
    for name in ("snakemake", "python"):
        (folder / name).write_text(CLIENT)
        (folder / name).chmod(0o755)
    # Without PYTHONPATH: each call has its own.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, SERVER, folder / "socket", str(owner)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
        )  # fmt: skip
    while not (folder / "socket").exists():
        assert server.poll() is None, (folder / "log").read_text()
        time.sleep(0.02)
