"""Measure this process from outside during a block: for a notebook or a test. Standard library only.

The watcher is a separate process that attaches to this one.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from .phases import VARIABLE
from .records.run_json import RunRecord

_BEGINS_S, _ENDS_S = 20.0, 20.0


class watching:  # noqa: N801 (it reads as a function)
    """`with watching() as seen: …`, then `print(seen)`, `seen.anon_bytes`, or `seen.record` as in run.json.

    It measures this process and all its children from the start to the end of the block, with the phases that they
    report. The kernel's high-water marks are reset at the start, so that they belong to the block. Raises
    RuntimeError if the watcher cannot be started.
    """

    def __init__(self, *, out: str | os.PathLike[str] | None = None):
        self.record = cast(RunRecord, {})
        """As in run.json; empty until the block ends."""
        self._out = out
        self._before: str | None = None

    def __enter__(self) -> "watching":
        self._folder = tempfile.TemporaryDirectory(prefix="beyond-ram-")
        try:
            events = Path(self._folder.name) / "events"
            events.touch()
            order = {
                "pid": os.getpid(),
                "out": os.fspath(self._out or Path(self._folder.name) / "out"),
                "events": str(events),
            }
            # Import the package from where it is, even if it is not installed.
            search_path = os.pathsep.join(
                [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
            )
            self._watcher = subprocess.Popen(
                [sys.executable, "-m", "beyond_ram.watched_block", json.dumps(order)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": search_path},
                start_new_session=True,  # so that Ctrl-C in a notebook's cell does not end it
            )
            self._await_begin()
        except BaseException:
            self._folder.cleanup()
            raise
        self._before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(events)
        return self

    def _await_begin(self) -> None:
        assert self._watcher.stdout is not None
        ready = select.select([self._watcher.stdout], [], [], _BEGINS_S)[0]
        if not ready or not os.read(self._watcher.stdout.fileno(), 1):
            self._watcher.kill()
            message = self._watcher.communicate()[1].decode(errors="replace").strip()
            raise RuntimeError(
                f"nothing can be watched here: {message.splitlines()[-1] if message else 'no watcher began'}"
            )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._before
        try:
            self._watcher.send_signal(signal.SIGINT)
            output = self._watcher.communicate(timeout=_ENDS_S)[0]
            self.record = json.loads(output)
        except (OSError, ValueError, subprocess.TimeoutExpired) as trouble:
            self._watcher.kill()
            self._watcher.communicate()
            if error is None:
                raise RuntimeError(f"the watcher did not end well: {trouble}") from None
        finally:
            self._folder.cleanup()

    def __getattr__(self, name: str) -> Any:
        """A peak of `record`: `rss_bytes`, `anon_bytes`, `file_bytes`, `shmem_bytes`, `pss_bytes`, …"""
        peak = self.__dict__.get("record", {}).get("peak", {})
        if name not in peak:
            raise AttributeError(f"{name}: known after the block, and one of {', '.join(peak) or 'what run.json has'}")
        return peak[name]

    def __str__(self) -> str:
        from .watch.summary import lines

        return "\n".join(lines(self.record)) if self.record else "the block has not ended"


def _main() -> int:
    """The watcher: reads a JSON order, writes a byte when it has started and the record at the end."""
    from .watch import attach, targets, write_record

    order = json.loads(sys.argv[1])
    out = Path(order["out"])
    # It ends with the block, or with this process.
    options = attach.AttachOptions(
        reset_marks=True,
        events=Path(order["events"]),
        on_begin=lambda: os.write(1, b"."),
    )
    record = attach.attach(targets.processes([order["pid"]]), out, options)
    write_record(record, out)
    os.write(1, json.dumps(record).encode())
    return 0


if __name__ == "__main__":
    sys.exit(_main())
