"""The project's commit, for the record of a run."""

from . import processes


def commit() -> str | None:
    """The commit of the working tree, with `-dirty` if tracked files differ; None outside a repository.

    Raises RuntimeError if git was killed, because then the run may be damaged too.
    """
    describe = "git describe --always --dirty --abbrev=12 '--exclude=*' 2> /dev/null"
    status, output = processes.run(["sh", "-c", f"exec {describe}"])
    if status < 0:
        raise RuntimeError(f"git describe ended with {processes.ending(status)}")
    return None if status else output.decode().strip()
