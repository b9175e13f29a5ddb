"""Recommended remedies against memory growth: environment variables, or work that the program does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Library folders of Debian, Fedora and Homebrew on Linux, searched for libraries to preload.
_LIBRARIES = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/home/linuxbrew/.linuxbrew/lib")


class NotHereError(RuntimeError):
    """This machine does not have the remedy. The message is the reason."""


@dataclass(frozen=True)
class Remedy:
    """One remedy: `environment` variables, or the file name of an allocator to `preload`. The program does all
    others."""

    description: str
    environment: Mapping[str, str] = field(default_factory=dict)
    preload: str = ""


REMEDIES = {
    "none": Remedy("as it is"),
    "arenas-1": Remedy("MALLOC_ARENA_MAX=1: one glibc arena for all threads", {"MALLOC_ARENA_MAX": "1"}),
    "mmap-threshold": Remedy(
        "MALLOC_MMAP_THRESHOLD_=65536: larger blocks go back at once",
        {"MALLOC_MMAP_THRESHOLD_": "65536"},
    ),
    "trim-threshold": Remedy(
        "MALLOC_TRIM_THRESHOLD_=65536: glibc gives back the top of its heap early", {"MALLOC_TRIM_THRESHOLD_": "65536"}
    ),
    "jemalloc": Remedy("jemalloc, preloaded", preload="libjemalloc.so.2"),
    "mimalloc": Remedy("mimalloc, preloaded", preload="libmimalloc.so.2"),
    "python-malloc": Remedy("PYTHONMALLOC=malloc: no pymalloc", {"PYTHONMALLOC": "malloc"}),
    "arrow-system": Remedy("ARROW_DEFAULT_MEMORY_POOL=system", {"ARROW_DEFAULT_MEMORY_POOL": "system"}),
    "arrow-mimalloc": Remedy("ARROW_DEFAULT_MEMORY_POOL=mimalloc", {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}),
    "one-thread": Remedy("TOKENIZERS_PARALLELISM=false", {"TOKENIZERS_PARALLELISM": "false"}),
    "gc-each-batch": Remedy("gc.collect() after each batch"),
    "trim-each-batch": Remedy("malloc_trim(0) after each batch"),
    "arrow-release": Remedy("the Arrow pool's release_unused() after each batch"),
    "no-tokenizer-cache": Remedy("the tokenizer's own cache of words switched off"),
    "ids-int16": Remedy("ids as int16; `datasets` itself takes int32"),
    "keep-in-memory": Remedy("keep_in_memory=True"),
    "process-per-shard": Remedy("each shard mapped in a child process that ends with it"),
}


def environment(name: str) -> dict[str, str]:
    """The environment variables of a remedy. Raises NotHereError if its library is not installed."""
    remedy = REMEDIES[name]
    variables = dict(remedy.environment)
    if remedy.preload:
        places = [path for place in _LIBRARIES for path in sorted(Path("/").glob(f"{place[1:]}/{remedy.preload}"))]
        if not places:
            raise NotHereError(f"{remedy.preload} is not installed here")
        variables["LD_PRELOAD"] = str(places[0])
    return variables
