"""Facts about the machine for the record. No host name, no environment."""

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Allocator settings that decide how much memory a process keeps. No other variables are read.
ALLOCATOR_VARIABLES = (
    "ARROW_DEFAULT_MEMORY_POOL",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MIMALLOC_PURGE_DELAY",
    "PYTHONMALLOC",
)
# Variables for the number of threads, each of which needs memory, and for busy waiting.
THREAD_VARIABLES = (
    "GOMP_SPINCOUNT",
    "KMP_BLOCKTIME",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "OPENBLAS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKENIZERS_PARALLELISM",
)


# Variables of schedulers.
SCHEDULERS = {"SLURM_JOB_ID": "slurm", "PBS_JOBID": "pbs", "LSB_JOBID": "lsf", "SGE_TASK_ID": "sge"}


def provenance(environment: Mapping[str, str]) -> dict[str, Any]:
    """Kernel, cgroup version, huge pages, settings of allocators and threads, memory in bytes, CPU count."""
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "cgroup_version": cgroup_version(),
        "transparent_hugepage": huge_pages(),
        "scheduler": next((name for variable, name in SCHEDULERS.items() if variable in environment), None),
        "allocator_settings": {name: environment[name] for name in ALLOCATOR_VARIABLES if name in environment},
        "thread_settings": {name: environment[name] for name in THREAD_VARIABLES if name in environment},
        "machine_memory_bytes": memory_bytes(),
        "cpu_count": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def oom_kills() -> int | None:
    """How many processes the kernel has killed for lack of memory, in any group; None if it does not count them."""
    match = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    return int(match[1]) if match else None


def memory_bytes() -> int:
    """The machine's memory in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def environment() -> dict[str, str]:
    """This process's environment as it was started, without the LC_CTYPE that Python adds in the C locale."""
    variables = dict(os.environ)
    try:
        initial = Path("/proc/self/environ").read_bytes()
    except OSError:
        return variables
    if "LC_CTYPE" in variables and not any(entry.startswith(b"LC_CTYPE=") for entry in initial.split(b"\0")):
        del variables["LC_CTYPE"]
    return variables


def cgroup_version() -> int | None:
    """2 if the unified hierarchy has the memory controller, 1 if a hierarchy of its own has it, else None."""
    try:
        controllers = Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
    except OSError:
        controllers = []
    if "memory" in controllers:
        return 2
    return 1 if Path("/sys/fs/cgroup/memory").is_dir() else None


def huge_pages() -> str | None:
    """When the kernel gives transparent huge pages: `always`, `madvise` or `never`; None if it has none."""
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return None
    return text.partition("[")[2].partition("]")[0]
