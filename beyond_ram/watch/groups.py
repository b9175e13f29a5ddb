"""A memory cgroup for the command, through BenchExec: the kernel's own peak of the whole tree, and a limit.

BenchExec knows where groups can be made (v1: below our own; v2: in a group that is ours alone, or a systemd scope) and
reports why where they cannot. It is imported only here, and only when a group is asked for.
"""

import contextlib
import logging
from pathlib import Path
from typing import Any

from .charges import Meter


class GroupError(RuntimeError):
    """No group can be made here; the text is one line with the reason."""


class LimitError(RuntimeError):
    """A memory limit that cannot be set here; the text is one line with the reason."""


class Group:
    """A group of its own for one command. Use `processes_files` to join it, before exec."""

    def __init__(self, cgroup: Any) -> None:
        self.version: int = cgroup.version
        self.folders = [str(path) for path in cgroup.paths]
        self.processes_files = [f"{folder}/cgroup.procs" for folder in self.folders]
        self.path = Path(cgroup["memory"])
        self.meter = Meter(self.path, self.version, ours=True)

    @classmethod
    def make(cls, limit_bytes: int | None = None) -> "Group":
        """A fresh group, limited to `limit_bytes` of memory and no swap beyond it. Raises GroupError with the
        reason."""
        try:
            from benchexec.cgroups import Cgroups
        except ImportError:
            raise GroupError("BenchExec is not installed") from None
        messages: list[str] = []
        errors: list[str] = []

        def note(record: logging.LogRecord) -> bool:
            """BenchExec tells why before it ends the program; nothing of it is for the terminal."""
            if record.levelno >= logging.ERROR:
                errors.append(record.getMessage())
            return False

        logging.getLogger().addFilter(note)
        made = None
        try:
            ours = Cgroups.initialize()
            if not ours.require_subsystem("memory", log_method=lambda text, *values: messages.append(text % values)):
                raise GroupError((messages or ["this system has no memory cgroup that we may use"])[0].splitlines()[0])
            # Only memory: on v1 a scheduler kills by its own freezer group, and would miss what has left it.
            made = ours.create_fresh_child_cgroup(["memory"])
            if "memory" not in made:
                raise GroupError("the memory controller is not delegated to us")
            if limit_bytes is not None:
                made.write_memory_limit(limit_bytes)
            group = cls(made)
            if limit_bytes is not None and group.meter.kills() is None:
                group.remove()
                raise GroupError("the kernel does not report its kills")
            return group
        except GroupError:
            _take_away(made)
            raise
        except (Exception, SystemExit) as error:  # BenchExec ends the program where it finds no way
            _take_away(made)
            kind = "" if isinstance(error, SystemExit) else f"{type(error).__name__}: "
            said = errors[0] if isinstance(error, SystemExit) and errors else str(error)
            raise GroupError(kind + " ".join(said.split())[:200]) from None
        finally:
            logging.getLogger().removeFilter(note)

    def killed(self) -> bool:
        """Whether the kernel has killed a process of the group for want of memory."""
        return bool(self.meter.kills())

    def remove(self) -> None:
        """Take the group away; processes that still run in it go to the group it was made in."""
        self.meter.close()
        for path in map(Path, self.folders):
            with contextlib.suppress(OSError):
                for pid in (path / "cgroup.procs").read_text().split():
                    with contextlib.suppress(OSError):
                        (path.parent / "cgroup.procs").write_text(pid)
                path.rmdir()


def _take_away(cgroup: Any) -> None:
    """Remove a group that nothing has joined yet."""
    for path in cgroup.paths if cgroup is not None else ():
        with contextlib.suppress(OSError):
            Path(path).rmdir()
