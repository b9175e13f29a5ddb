"""Which files a process was seen to read."""

import subprocess
import sys

from beyond_ram.measure.files_read import FilesRead

# A child of the process has one file open and one mapped, says so, and waits.
PROGRAM = """
import mmap, os, sys
pid = os.fork()
if pid: os._exit(os.waitpid(pid, 0)[1] > 0)
opened, private, file = (open(name, "rb") for name in sys.argv[1:])
mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
file.close()
print(flush=True)
sys.stdin.read()
"""


def test_files_that_children_have_open_or_mapped_are_seen(tmp_path):
    own = tmp_path / "private"
    own.mkdir()
    files = [tmp_path / "opened", own / "result", tmp_path / "mapped file"]
    for file in files:
        file.write_bytes(b"rows")
    command = [sys.executable, "-c", PROGRAM, *map(str, files)]
    files_read = FilesRead()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        files_read.at_event({"event": "work"}, process.pid)
        process.communicate()
    seen = files_read.outside(own)
    assert {files[0], files[2]} <= {*seen} and files[1] not in seen
    assert not any(str(path).startswith(("/dev/", "/proc/")) for path in seen)
    files[0].unlink()
    assert files[0] not in files_read.outside(own)
