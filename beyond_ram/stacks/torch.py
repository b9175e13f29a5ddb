"""torch in a stack: its version is locked, but the machine selects its build.

PyPI's Linux build brings gigabytes of CUDA libraries, and the CPU build is on a separate index. So a lock has only
`torch==VERSION`, without hashes and CUDA libraries. It is installed last, from the first of these that has it: the
folders and pages in pip's `find-links`, PyTorch's index for this machine (`--torch-backend auto`), the package index.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

_BLOCK = re.compile(r"(?m)^(?=[A-Za-z0-9])")
_CUDA = re.compile(r"(nvidia|cuda|triton)\b")
_TORCH = re.compile(r"torch==([^\s+\\]+)\S*")


def left_bare(lock: str) -> str:
    """A resolved lock that has torch only as a version, without what only its CUDA build needs."""
    blocks = _BLOCK.split(lock)
    if not any(_TORCH.match(block) for block in blocks):
        return lock
    without_cuda = [block for block in blocks if not _CUDA.match(block)]
    return "".join(f"torch=={match[1]}\n" if (match := _TORCH.match(block)) else block for block in without_cuda)


def split(lock: str) -> tuple[str, str | None]:
    """A lock without torch, which has no hash, and the torch requirement; None if there is none."""
    match = re.search(r"(?m)^torch==\S+$", lock)
    return (lock, None) if not match else (lock.replace(match[0], ""), match[0])


def sources() -> Iterator[list[str]]:
    """uv's options for each source of torch, in order."""
    links = find_links()
    if links:
        yield links
    yield ["--torch-backend=auto"]
    yield []


def find_links() -> list[str]:
    """pip's `find-links` as options for uv, which does not read pip's configuration."""
    places = os.environ.get("PIP_FIND_LINKS")
    for python in dict.fromkeys((getattr(sys, "_base_executable", sys.executable), sys.executable)):
        if not places:
            command = [python, "-m", "pip", "config", "get", "global.find-links"]
            places = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [f"--find-links={place}" for place in (places or "").split()]
