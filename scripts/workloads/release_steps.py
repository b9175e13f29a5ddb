"""Release what holds memory, step by step, with a reading of anonymous memory after each. Standard library only.

Each step is followed by `release.tidy()`: what it gave back is the drop, and what no step gave back stays.
"""

import collections
import contextlib
import gc
import json
import os
import sys
import threading
import time

import events
import release
from holding import (
    DEPTH,
    LARGE_BYTES,
    Reach,
    caches,
    defines,
    describe,
    emptying,
    globals_of_libraries,
    inside,
    may_hide,
    modules,
    of_script,
    standard,
    stops,
)

# What gives back less than this, or than this share of all, is no holder, and is counted with the others.
FLOOR_BYTES, FLOOR_SHARE = 1_000_000, 0.02
# What is inside of a holder is named in its place where it is most of it.
_MOST = 0.8
# Names of libraries that lead to little may hold native memory. They are tried for so long, where so many times the
# floor are unexplained.
_PATIENCE_S, _UNEXPLAINED = 10.0, 5
# Readings while threads run on, and the time between them.
_READINGS, _PROBES, _PAUSE_S = 6, 40, 0.004
# So long may an allocator take to give back what is free; so long all steps together may wait for that.
_LATE_S, _POLL_S, _WAITS_S = 0.8, 0.05, 8.0
# The pages that objects keep in use are not so many times as large as they.
_PAGES = 100


def anon():
    """Anonymous memory of this process in bytes, as its page tables have it."""
    return private("self", b"Anonymous:") or events.own_memory().get("anon_bytes", 0)


def private(process, line_name=b"Private_Dirty:"):
    """A line of a process's smaps_rollup in bytes, by default what no other process shares; 0 where there is none."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(line_name)), 0)
    except OSError:
        return 0


class ReleaseSteps:
    """The steps of the release, each with what it gave back."""

    def __init__(self, path):
        self.path, self.start, self.heap, self.end = path, anon(), allocators(), None
        self.at = self.start
        self.waits_s, self.silent = 0.0, []
        self.steps, self.shared, self.floor, self.more = [], {}, FLOOR_BYTES, {}
        self.freed = {}  # the bytes of holders whose objects are gone, in pages that others still use
        self.script_ended = False

    def begin(self):
        """Read the memory that is held, and release what nothing holds."""
        self.at = level()
        self.floor = max(moving(), FLOOR_SHARE * (self.at - self.start))
        self.end = self.end or self.at
        self.step("arrow pool, unused", "allocator", release.unused_arrow, gc.get_count)
        self.step("allocator, unused", "allocator", release.trim, gc.get_count)
        if native():
            self.waits_s = _WAITS_S
            self.settle()
        self.garbage()

    def step(self, holder, kind, empty, tidy=release.tidy, **more):
        """Empty something, and keep what that gave back."""
        with contextlib.suppress(Exception):  # read-only, or gone: then it gives nothing back
            empty()
        tidy()
        now = level()
        given, self.at = self.at - now, now
        self.steps.append({"holder": holder, "kind": kind, "released_bytes": given, **more})
        return given

    def garbage(self):
        """Release cycles that nothing holds, named by the commonest type, if it can be not one of Python's own."""
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        types_of = collections.Counter(type(one) for one in gc.garbage).most_common()
        common = [kind for kind, number in types_of if number >= types_of[0][1] / 10]
        named = [kind.__qualname__ for kind in common if kind.__module__ != "builtins"] or ["Python's own types"]
        self.step(f"cycles of {named[0]}", "garbage", gc.garbage.clear)

    def peel(self, place, own=of_script, depth=0):
        """Release a place; before it what is inside, where that is named more exactly.

        While the script is not at its end, what others hold too stays whole: they may use it.
        """
        leaf = place.leaf or not (self.script_ended or place.is_alone())
        value = place.get()
        reach, text = Reach(value, stops()), describe(value)
        if defines(value) and not own(value.__module__):
            reach.large = set()  # a name that was imported shares all with its library, which is what holds it
        also = self.sharing(value, reach)
        parts = [] if leaf or depth == DEPTH or reach.bytes < self.floor else inside(value, place.name, own)
        parts = [(Reach(part.get(), stops()).bytes, part) for part in parts]
        parts = [(size, part) for size, part in parts if size >= self.floor]
        del value
        if sum(size for size, _ in parts) >= _MOST * reach.bytes:
            for _, part in sorted(parts, key=lambda one: -one[0]):
                self.peel(part, own, depth + 1)
        parts.clear()
        self.measure(place.name, place.kind, place.empty, reach, text, also)

    def sharing(self, value, reach):
        """The places that were emptied and gave nothing back, because this value holds most of the same."""
        also = [name for name, (large, *_) in self.shared.items() if large & reach.large]
        around = stops().union(*(self.shared[name][0] for name in also))
        return also if also and Reach(value, around).bytes < reach.bytes / 2 else []

    def measure(self, name, kind, empty, reach, text, also, tidy=release.tidy):
        """Empty a place, and note who held the same, and whether more came back than its objects.

        More comes back where their pages also held objects of places that were emptied before, and are named then.
        """
        is_large = reach.plain and reach.bytes >= self.floor
        before = sum(allocators().values()) if is_large else 0
        given = self.step(name, kind, empty, tidy, type=text, objects_bytes=round(reach.bytes))
        if is_large and given < self.floor and (freed := before - sum(allocators().values())) >= self.floor:
            self.freed[name] = freed
        if not reach.plain and given < max(self.floor, reach.bytes / 2) and tidy is release.tidy:
            self.silent.append(name)
            self.settle()
        if reach.plain and reach.bytes < given / _PAGES:
            self.steps[-1] |= self.late()
            return
        if given < self.floor:
            if reach.bytes >= self.floor:
                self.shared[name] = reach.large, kind, text
            return
        fragments = reach.plain and reach.bytes < given / 3
        self.steps[-1] |= {"also_held_by": also, "fragments": fragments}
        if self.freed and reach.plain and given - reach.bytes >= self.floor:
            self.steps[-1]["released_before"], self.freed = self.freed, {}
        if also:  # the one that leads to most is named first
            _, kind, text = self.shared[also[0]]
            self.steps[-1] |= {"holder": also[0], "kind": kind, "type": text, "also_held_by": [*also[1:], name]}

    def settle(self):
        """Wait for an allocator that gives back later, as that of Polars; what comes is a step of its own."""
        until, low = time.monotonic() + _LATE_S, self.at
        while self.waits_s > 0 and time.monotonic() < until:
            time.sleep(_POLL_S)
            self.waits_s -= _POLL_S
            low = min(low, level())
        if self.at - low >= self.floor:
            self.steps.append({**self.late(), "released_bytes": self.at - low})
            self.at = low

    def late(self):
        """Memory that came back late. Which of the last holders held it is unknown, so all are named."""
        names = self.silent[-DEPTH:]
        return {"holder": " or ".join(names) or "unknown", "kind": "given back late"}

    def returned(self, function):
        """The function that the script ends with has returned: what it held until then is free."""
        names = list(self.shared)
        self.step(", ".join(names) or f"the rest of {function}", f"held until {function}() returned", lambda: None)
        self.shared.clear()  # what its locals share with others outlives them

    def together(self, places, holder):
        """Release places that lead to little in one step, and the others one by one, those that lead to most first."""
        reaches = [(Reach(place.get(), stops()), place) for place in places]
        reaches.sort(key=lambda one: -one[0].bytes)
        for reach, place in reaches:
            if reach.bytes >= LARGE_BYTES or not reach.plain:
                self.peel(place)
        small = [place for reach, place in reaches if reach.bytes < LARGE_BYTES and reach.plain]
        self.step(holder, "others", lambda: [place.empty() for place in small])

    def write(self, **more):
        """Write the result so far, whole or not at all: a library may not survive that its names are emptied."""
        self.more |= more
        named = [step for step in self.steps if step["released_bytes"] >= self.floor]
        others = sum(step["released_bytes"] for step in self.steps if step["released_bytes"] < self.floor)
        named += [{"holder": "others", "kind": "others", "released_bytes": others}]
        result = {"start_bytes": self.start, "end_bytes": self.end, "steps": named, "floor_bytes": self.floor}
        result |= {"stayed_bytes": self.at - self.start, **self.more}
        with open(f"{self.path}.part", "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
        os.replace(f"{self.path}.part", self.path)


def level():
    """Anonymous memory; where threads run on, the least of some readings, without what they take for a moment."""
    return min(readings(_READINGS))


def moving():
    """The least that a holder has to give back: more than threads that run on move meanwhile."""
    levels = readings(_PROBES)
    return max(FLOOR_BYTES, max(levels) - min(levels))


def readings(number):
    """Readings of anonymous memory, one where no other thread runs on."""
    levels = [anon()]
    for _ in range(number - 1 if threading.active_count() > 1 else 0):
        time.sleep(_PAUSE_S)
        levels.append(anon())
    return levels


def native():
    """Whether there is native code from outside of the standard library, which may have an allocator of its own."""
    files = [getattr(module, "__file__", None) or "" for module in modules().values()]
    return any(path.endswith(".so") and not standard(path) for path in files)


def libraries(ladder, imports_bytes):
    """Release what libraries hold: caches, then globals and class attributes, those that lead to most first."""
    ladder.waits_s = _LATE_S if native() else 0.0
    if ladder.at - ladder.start - imports_bytes >= ladder.floor:
        ladder.settle()
    for place in list(caches()):
        reach = Reach(place.get(), stops())
        if reach.bytes >= LARGE_BYTES:
            ladder.peel(place)
        else:
            ladder.measure(place.name, place.kind, place.empty, reach, "lru_cache", [], release.trim)
    by_value = globals_of_libraries()
    around, sized = stops() | set(by_value), []
    for number, places in by_value.items():
        place = max(places, key=lambda one: one.name.count("."))
        sized.append((Reach(place.get(), around, number), place, places))
    by_value.clear()
    sized.sort(key=lambda one: -one[0].bytes)
    began, own = time.monotonic(), anon() - ladder.at  # what this list takes is ours
    ladder.at += own
    for reach, place, places in sized:
        left = ladder.at - ladder.start - own
        if left < ladder.floor:
            break
        is_early = time.monotonic() - began < _PATIENCE_S
        if reach.bytes >= ladder.floor / 4:
            _release(ladder, reach, place, places, release.tidy)
        elif left - imports_bytes >= _UNEXPLAINED * ladder.floor and is_early and may_hide(place):
            _release(ladder, reach, place, places, release.trim)
    ladder.at -= own


def _release(ladder, reach, place, places, tidy):
    value = place.get()
    text, also = describe(value), ladder.sharing(value, reach)
    del value
    ladder.measure(place.name, place.kind, emptying(places), reach, text, also, tidy)


# What no step shows.


def allocators():
    """What allocators have handed out: malloc, Python's own for small objects, Arrow's default pool.

    Another malloc than glibc's does not say.
    """
    malloc = {"malloc_bytes": heap["in_use_bytes"]} if (heap := release.heap()) else {}
    return {**malloc, "python_bytes": python_heap(), "arrow_bytes": release.arrow_pool() or 0}


def python_heap():
    """Bytes in use of Python's allocator for small objects, which prints them only on standard error."""
    caught, stderr = os.memfd_create("stats"), os.dup(2)
    try:
        os.dup2(caught, 2)
        sys._debugmallocstats()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
    text = os.pread(caught, 1 << 20, 0).decode("ascii", "replace")
    os.close(caught)
    lines = [line for line in text.splitlines() if line.startswith("# bytes in allocated blocks")]
    return int(lines[0].rpartition("=")[2].replace(",", "")) if lines else 0
