"""How much memory there is, and what of it is left to others. Standard library only."""

from pathlib import Path

LEAST = 16 << 20  # minimum memory of a worker besides its tokenizer
KERNEL = 10 << 20  # memory of a control group that is neither anonymous nor reclaimable: page tables, dirty pages
KEPT_SHARE = 0.05  # of the available memory, which workers may keep without using it
SHARE = 0.8  # share of free memory to use without a limit


def available():
    """Free memory in bytes: of the machine, or less if a control group has less left."""
    with open("/proc/meminfo", encoding="ascii") as info:
        free = int(next(line for line in info if line.startswith("MemAvailable")).split()[1]) * 1024
    root = Path("/sys/fs/cgroup")
    try:
        with open("/proc/self/cgroup", encoding="ascii") as groups:
            for line in groups:
                _, kinds, path = line.strip().split(":", 2)
                if kinds == "":
                    names, limit, used = root, "memory.max", "memory.current"
                    of = "file shmem active_file inactive_file"
                elif "memory" in kinds.split(","):
                    names, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
                    of = "total_cache total_shmem total_active_file total_inactive_file"
                else:
                    continue
                folder = names / path.lstrip("/")
                while True:
                    if (folder / limit).is_file() and (text := (folder / limit).read_text().strip()) != "max":
                        # Usage includes page cache, which the kernel reclaims. Its lists also have anonymous pages
                        # that a program gave back with MADV_FREE, and may have written to again.
                        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                        file, shared, *lists = (int(stat.get(name, 0)) for name in of.split())
                        cached = min(sum(lists), max(0, file - shared))
                        free = min(free, int(text) - int((folder / used).read_text()) + cached)
                    if folder == names or names not in folder.parents:
                        break
                    folder = folder.parent
    except (OSError, ValueError):
        pass
    return max(free, 0)


def size(number):
    """A size with a unit."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number / 1000:.0f} kB"
