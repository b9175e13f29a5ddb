"""What holds a script's memory at its end: it runs as in script.py, then what it holds is released, step by step.

Each step is followed by `release.tidy()` and a reading of anonymous memory: what a step gave back is the drop, and what
no step gave back stays. The steps: unused memory of allocators, cycles, locals of the function that the script ends
with, calls by atexit, names of the script, locals of an error and of threads, then caches, classes and globals of
libraries. The result is `why.json` in the work folder. A run in which this is done is never compared. Standard library
only.
"""

import ast
import atexit
import builtins
import collections
import ctypes
import functools
import gc
import json
import os
import sys
import threading
import time
import traceback
import types
import weakref

import events
import release
import script

# The script may have modules of its own with these names.
for _name in ("events", "release", "script"):
    sys.modules.pop(_name, None)
RESULT = "why.json"
# What gives back less than this, or than this share of all, is no holder, and is counted with the others.
FLOOR_BYTES, FLOOR_SHARE = 1_000_000, 0.02
# Objects so large show whether two holders share what they hold. Names that lead to less are released together.
_LARGE_BYTES = 65_536
# A container of more is estimated from a sample.
_SAMPLED, _SAMPLE = 10_000, 1_000
# What is inside of a holder is named in its place where it is most of it; as deep as this.
_MOST, _DEPTH = 0.8, 5
# Names of libraries that lead to little may hold native memory. They are tried for so long, where so many times the
# floor are unexplained.
_PATIENCE_S, _UNEXPLAINED = 10.0, 5
# Readings while threads run on, and the time between them.
_READINGS, _PROBES, _PAUSE_S = 6, 40, 0.004
# So long may an allocator take to give back what is free; so long all steps together may wait for that.
_LATE_S, _POLL_S, _WAITS_S = 0.8, 0.05, 8.0
# The pages that objects keep in use are not so many times as large as they.
_PAGES = 100
_LAST, _END = "__beyond_ram_last__", "__beyond_ram_end__"
_SCALARS = {int, float, complex, bool, type(None), str, bytes, range, type(...)}
_CONTAINERS = (list, dict, set, collections.deque, bytearray)
_DATA = _SCALARS | {tuple, frozenset, *_CONTAINERS}
_PLAIN = _DATA | {types.FunctionType, types.MethodType, types.CellType, types.MappingProxyType, property, staticmethod,
                  classmethod, functools.partial, type(functools.cache(len)), weakref.ref}  # fmt: skip
_NO_DATA = (types.ModuleType, type, types.FrameType, types.CodeType)
_MODULE_NAMES = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__cached__",
                 "__builtins__"}  # fmt: skip
# The rest of the run needs these modules.
_NEEDED = {"__main__", "__mp_main__", "sys", "builtins", "os", "posix", "io", "_io", "gc", "json", "ctypes", "_ctypes",
           "types", "collections", "threading", "_thread", "codecs", "encodings", "time", "importlib", "zipimport",
           "_frozen_importlib", "_frozen_importlib_external", "memray"}  # fmt: skip


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


# What a value leads to.


def leads_to(one):
    """What an object refers to. A function does not lead to the globals of its module."""
    kind = type(one)
    if kind is types.FunctionType:
        return [one.__closure__, one.__defaults__, one.__kwdefaults__, one.__dict__]
    return gc.get_referents(one)


def size_of(one):
    """The bytes of an object, as it counts them itself."""
    try:
        size = sys.getsizeof(one)
        return max(size, int(one.nbytes)) if hasattr(type(one), "nbytes") else size
    except Exception:
        return 0


def is_plain(kind):
    """Whether instances of a class have no memory that they do not count: it and its bases are written in Python."""
    while kind not in _PLAIN:
        if kind is object:
            return True
        base = kind.__base__
        fields = len(vars(kind).get("__slots__", ())) + (kind.__weakrefoffset__ != base.__weakrefoffset__)
        fields += kind.__dictoffset__ != base.__dictoffset__
        if kind.__basicsize__ - base.__basicsize__ > fields * ctypes.sizeof(ctypes.c_void_p) or base is None:
            return False
        kind = base
    return True


class Reach:
    """An estimate of what a value leads to: it orders the steps, and decides about nothing else but `plain`.

    `stops`: the ids of what it does not lead through, but for the value's own.
    """

    def __init__(self, value, stops, own=None):
        seen = set()
        self.bytes, self.large, self.plain = 0.0, set(), True
        """`plain`: all are objects of Python's own whose sizes are known."""
        waiting = [(one, 1.0) for one in (vars(value).values() if issubclass(type(value), type) else [value])]
        while waiting:
            one, weight = waiting.pop()
            kind = type(one)
            if id(one) in seen or (id(one) in stops and id(one) != own) or issubclass(kind, _NO_DATA):
                continue
            seen.add(id(one))
            size = weight * size_of(one)
            self.bytes += size
            self.plain = self.plain and is_plain(kind)
            if size >= _LARGE_BYTES:
                self.large.add(id(one))
            if kind.__name__ == "ndarray":  # a view counts less than what it is a view of
                waiting.append((one.base, weight / 2))
            inside = [] if kind in _SCALARS else leads_to(one)
            if len(inside) > _SAMPLED:
                every = len(inside) // _SAMPLE
                weight *= every
                inside = inside[::every]
            waiting.extend((each, weight) for each in inside)


def stops():
    """The ids of what no value leads through: the names of modules."""
    return {id(sys.modules), *(id(vars(module)) for module in modules().values())}


def modules():
    return {name: module for name, module in [*sys.modules.items()] if issubclass(type(module), types.ModuleType)}


# Places that may hold something.


class HoldingPlace:
    """A place that may hold something: its name, what it is, how to read it and how to empty it. It holds nothing."""

    def __init__(self, name, kind, get, empty, leaf=False):
        self.name, self.kind, self.get, self.empty, self.leaf = name, kind, get, empty, leaf

    def is_alone(self):
        """Whether nothing else holds the value."""
        return sys.getrefcount(self.get()) <= 2  # the place, and this call


class Local(HoldingPlace):
    """A local variable."""

    def is_alone(self):
        return sys.getrefcount(self.get()) <= 2 + (sys.version_info < (3, 13))  # f_locals, until then a copy


def entry(names, key, name, kind):
    return HoldingPlace(name, kind, lambda: names.get(key), lambda: names.pop(key, None))


def local(frame, key, owner):
    def empty():
        frame.f_locals[key] = None
        if sys.version_info < (3, 13):  # until then it is a copy
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)

    return Local(f"{frame.f_code.co_name}.{key}", f"local variable of {owner}", lambda: frame.f_locals.get(key), empty)


def cell(holder, key, name):
    def get():
        try:
            return holder.cell_contents
        except ValueError:  # empty
            return None

    return HoldingPlace(f"{name}.{key}", "closure variable", get, lambda: setattr(holder, "cell_contents", None))


def default(function, index, name):
    def empty():
        values = function.__defaults__
        function.__defaults__ = (*values[:index], None, *values[index + 1 :])

    key = function.__code__.co_varnames[function.__code__.co_argcount - len(function.__defaults__) + index]
    return HoldingPlace(f"{name}.{key}", "default argument", lambda: function.__defaults__[index], empty)


def is_cache(value):
    return type(value).__name__ == "_lru_cache_wrapper"


def defines(value):
    """Whether a value is a function, a class or an lru_cache: what a module defines."""
    return issubclass(type(value), (type, types.FunctionType)) or is_cache(value)


def inside(value, name, own):
    """The places inside of a function, a class, an lru_cache or an instance, if its module is `own`."""
    kind = type(value)
    if not own(getattr(value if defines(value) else kind, "__module__", None)):
        return []
    if is_cache(value):
        return [HoldingPlace(name, "lru_cache", lambda: value, value.cache_clear, leaf=True)]
    if kind is types.FunctionType:
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        places = [cell(holder, key, name) for key, holder in cells]
        places += [default(value, index, name) for index in range(len(value.__defaults__ or ()))]
        return places + [entry(value.__dict__, key, f"{name}.{key}", "function attribute") for key in value.__dict__]
    if issubclass(kind, type):
        keys = [key for key in vars(value) if not key.startswith("__")]
        return [HoldingPlace(f"{name}.{key}", "class attribute", lambda key=key: vars(value).get(key),
                      lambda key=key: type.__setattr__(value, key, None)) for key in keys]  # fmt: skip
    if issubclass(type(names := getattr(value, "__dict__", ())), dict):
        return [entry(names, key, f"{name}.{key}", "attribute") for key in names]
    return []


def of_script(module):
    return module == "__main__"


# Steps.


class ReleaseSteps:
    """The steps of the release, each with what it gave back."""

    def __init__(self, path):
        self.path, self.start, self.heap, self.end = path, anon(), allocators(), None
        self.at = self.start
        self.waits_s, self.silent = 0.0, []
        self.steps, self.shared, self.floor, self.more = [], {}, FLOOR_BYTES, {}
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
        try:
            empty()
        except Exception:  # read-only, or gone: then it gives nothing back
            more["refused"] = True
        tidy()
        now = level()
        given, self.at = self.at - now, now
        self.steps.append({"holder": holder, "kind": kind, "released_bytes": given, **more})
        return given

    def garbage(self):
        """Release cycles that nothing holds, by the types that they are of."""
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        groups = by_type(gc.garbage)
        gc.garbage.clear()
        for name in sorted(groups, key=lambda name: -len(groups[name])):
            if len(groups[name]) > 1 or len(groups) < _DEPTH:
                self.step(f"cycles of {name}", "garbage", lambda name=name: groups.pop(name))
        self.step("garbage", "garbage", groups.clear)

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
        parts = [] if leaf or depth == _DEPTH or reach.bytes < self.floor else inside(value, place.name, own)
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
        """Empty a place, and note who held the same, and whether more came back than its objects."""
        given = self.step(name, kind, empty, tidy, type=text, objects_bytes=round(reach.bytes))
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
        names = self.silent[-_DEPTH:]
        return {"holder": " or ".join(names) or "unknown", "kind": "given back late"}

    def returned(self, function):
        """The function that the script ends with has returned: what it held until then is free."""
        names = list(self.shared)
        self.step(", ".join(names) or f"the rest of {function}", f"held until {function}() returned", lambda: None)
        self.shared.clear()  # what its locals share with others outlives them

    def call_back(self, callbacks):
        """Run what the script left to atexit. The calls need what they hold, so nothing of that is released before."""
        reaches = [(Reach(one, stops()).bytes, title(one[0])) for one in callbacks]
        names = dict.fromkeys(name for size, name in sorted(reaches, reverse=True) if size >= self.floor)
        callbacks.clear()
        self.step(" or ".join(names) or "unknown", "given back when atexit called it", atexit._run_exitfuncs)

    def together(self, places, holder):
        """Release places that lead to little in one step, and the others one by one, those that lead to most first."""
        reaches = [(Reach(place.get(), stops()), place) for place in places]
        reaches.sort(key=lambda one: -one[0].bytes)
        for reach, place in reaches:
            if reach.bytes >= _LARGE_BYTES or not reach.plain:
                self.peel(place)
        small = [place for reach, place in reaches if reach.bytes < _LARGE_BYTES and reach.plain]
        self.step(holder, "others", lambda: [place.empty() for place in small])

    def write(self, **more):
        """Write the result so far, whole or not at all: a library may not survive that its names are emptied."""
        self.more |= more
        named = [step for step in self.steps if step["released_bytes"] >= self.floor]
        others = sum(step["released_bytes"] for step in self.steps if step["released_bytes"] < self.floor)
        named += [{"holder": "others", "kind": "others", "released_bytes": others}]
        result = {"start_bytes": self.start, "end_bytes": self.end, "steps": named, "floor_bytes": self.floor}
        result |= {"tried": len(self.steps), "stayed_bytes": self.at - self.start, **self.more}
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


def describe(value):
    """The type of a value, and how many it has."""
    kind = type(value)
    return f"{kind.__name__} of {len(value):,}" if kind in _DATA - _SCALARS else kind.__name__


def by_type(garbage):
    """Unreachable objects by the types of their cycle, Python's own types only where it has no others."""
    by_id = {id(one): one for one in garbage}
    left = dict(by_id)
    groups: dict[str, list[object]] = collections.defaultdict(list)
    neighbours: dict[int, list[int]] = collections.defaultdict(list)
    for one in garbage:
        for other in gc.get_referents(one):
            if id(other) in by_id:
                neighbours[id(one)].append(id(other))
                neighbours[id(other)].append(id(one))
    while left:
        cycle, waiting = [], [next(iter(left))]
        while waiting:
            one = left.pop(waiting.pop(), None)
            if one is not None:
                cycle.append(one)
                waiting.extend(neighbours[id(one)])
        types_of = collections.Counter(type(one) for one in cycle)
        named = [kind for kind in types_of if kind.__module__ != "builtins"] or list(types_of)
        named.sort(key=lambda kind: (-types_of[kind], kind.__name__))
        groups[" and ".join(kind.__qualname__ for kind in named[:2])] += cycle
    return groups


def frames(frame, owner, cells=True):
    """The locals of a frame as places, but those of the standard library's."""
    code = frame.f_code
    if code.co_name == "<module>" or code.co_filename == __file__ or standard(code.co_filename):
        return []
    skipped = () if cells else (*code.co_cellvars, *code.co_freevars)
    return [local(frame, key, owner) for key in frame.f_locals if key not in skipped]


class Callbacks:
    """What atexit will call, with the arguments: it tells nobody."""

    def __init__(self):
        self.left, self.register_, self.unregister_ = [], atexit.register, atexit.unregister
        for each in (self.register, self.unregister):
            setattr(atexit, each.__name__, each)

    def register(self, function, /, *args, **kwargs):
        self.register_(function, *args, **kwargs)
        self.left.append((function, args, kwargs))
        return function

    def unregister(self, function, /):
        self.unregister_(function)
        self.left[:] = [one for one in self.left if one[0] != function]


def title(function):
    return getattr(function, "__qualname__", type(function).__qualname__).replace("<locals>.", "")


def context():
    """The variables of the context that the script ran in."""
    variables = list(sys.modules["contextvars"].copy_context()) if "contextvars" in sys.modules else []
    return [HoldingPlace(one.name, "context variable", one.get, lambda one=one: one.set(None)) for one in variables]


def standard(path):
    library = os.path.dirname(os.__file__) + os.sep
    return path.startswith(("<frozen ", library)) and "site-packages" not in path


def threads():
    """The locals of all other threads."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    places = []
    for number, innermost in sys._current_frames().items():
        if number != threading.get_ident():
            for frame, _ in traceback.walk_stack(innermost):
                places += frames(frame, f"thread {names.get(number, number)}")
    return places


# Libraries.


def caches():
    """Every lru_cache that has something in it."""
    wrappers = [one for one in gc.get_objects() if is_cache(one)]
    for wrapper in wrappers:
        if wrapper.cache_info().currsize:
            name = f"{wrapper.__module__}.{getattr(wrapper, '__qualname__', '?')}".removeprefix("__main__.")
            yield HoldingPlace(name, "lru_cache", lambda wrapper=wrapper: wrapper, wrapper.cache_clear, leaf=True)


def globals_of_libraries():
    """The globals, class attributes, closures and defaults of all modules: by the id of a value, the places it has."""
    by_value: dict[int, list[HoldingPlace]] = collections.defaultdict(list)
    for module_name, module in modules().items():
        if module_name.partition(".")[0] not in _NEEDED:
            names = vars(module)
            for key in [key for key in names if key not in _MODULE_NAMES]:
                _add(by_value, entry(names, key, f"{module_name}.{key}", "global of a module"), module_name, 0)
    return by_value


def _add(by_value, place, module_name, depth):
    value = place.get()
    kind = type(value)
    scalar = kind in _SCALARS and size_of(value) < _LARGE_BYTES
    if scalar or issubclass(kind, types.ModuleType) or value is sys.modules:
        return
    if issubclass(kind, type) or kind is types.FunctionType:
        if value.__module__ == module_name and depth < _DEPTH:
            for part in inside(value, place.name, module_name.__eq__):
                _add(by_value, part, module_name, depth + 1)
        return
    by_value[id(value)].append(place)


def emptying(places):
    """How to empty a value: a container of what it has, anything else out of all its places."""
    value = places[0].get()
    if issubclass(type(value), _CONTAINERS):
        return value.clear
    return lambda: [place.empty() for place in places]


def libraries(ladder, imports_bytes):
    """Release what libraries hold: caches, then globals and class attributes, those that lead to most first."""
    ladder.waits_s = _LATE_S if native() else 0.0
    if ladder.at - ladder.start - imports_bytes >= ladder.floor:
        ladder.settle()
    for place in list(caches()):
        reach = Reach(place.get(), stops())
        if reach.bytes >= _LARGE_BYTES:
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
        if reach.bytes >= ladder.floor / 4:
            _release(ladder, reach, place, places, release.tidy)
        elif (
            left - imports_bytes >= _UNEXPLAINED * ladder.floor
            and time.monotonic() - began < _PATIENCE_S
            and may_hide(place)
        ):
            _release(ladder, reach, place, places, release.trim)
    ladder.at -= own


def may_hide(place):
    """Whether a place of a library may hold memory that its objects do not count."""
    kind = type(place.get())
    if place.name.partition(".")[0] in sys.stdlib_module_names:
        return False
    return issubclass(kind, _CONTAINERS) or not kind.__module__.startswith(("builtins", "_cython", "typing", "types"))


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
    caught, kept = os.memfd_create("stats"), os.dup(2)
    try:
        os.dup2(caught, 2)
        sys._debugmallocstats()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    text = os.pread(caught, 1 << 20, 0).decode("ascii", "replace")
    os.close(caught)
    lines = [line for line in text.splitlines() if line.startswith("# bytes in allocated blocks")]
    return int(lines[0].rpartition("=")[2].replace(",", "")) if lines else 0


def processes():
    """The processes below this one, with the memory that each shares with no other."""
    started = sys.modules.get("multiprocessing.process")
    names = {one.pid: one.name for one in started.active_children()} if started else {}
    parents = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                parents[int(number)] = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:  # it has ended
            continue
    below, ours = [], {os.getpid()}
    while more := [number for number, parent in parents.items() if parent in ours and number not in ours]:
        ours |= set(more)
        below += more
    return [{"pid": one, "name": names.get(one, command(one)), "private_bytes": private(one)} for one in below]


def command(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read(200).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return "?"


class Imports:
    """By how much memory grew while modules were imported, without those that another import began."""

    def __init__(self):
        self.grown_bytes, self.depth, self.original = 0, 0, builtins.__import__

    def __call__(self, name, *args, **more):
        if self.depth or name in sys.modules:
            return self.original(name, *args, **more)
        self.depth += 1  # reading the memory may import a codec
        before = events.own_memory().get("anon_bytes", 0)
        try:
            return self.original(name, *args, **more)
        finally:
            self.grown_bytes += max(0, events.own_memory().get("anon_bytes", 0) - before)
            self.depth -= 1


# The script.


def compiled(source, path):
    """The script, where the function that it ends with calls `_END` before it returns: its locals are of interest too.

    That is a function of the script, or a method of one of its classes, which its last statement calls, once and
    outside of any loop, as `main()` or `App().run()` often are. `_LAST` is called before it, and learns whose it is.
    """
    tree = ast.parse(source, path)
    last = tree.body[-1:] or [tree]
    while isinstance(last[0], ast.If):
        last = last[0].body[-1:]
    functions, nodes = functions_of(tree), list(in_order(last[0]))
    imports = [one.names for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name.partition(".")[0] for names in imports for alias in names}
    named = [(name_of(one.func, imported), one) for one in nodes if isinstance(one, ast.Call)]
    calls = [(name, one) for name, one in named if name in functions]
    name, last_call = calls[-1] if calls else ("", None)
    loops = ast.For | ast.While | ast.AsyncFor | ast.comprehension
    if last_call and [one for one, _ in calls].count(name) == 1 and not of_kind(loops, nodes):
        if isinstance(last_call.func, ast.Attribute):
            last_call.func.value = call(_LAST, last_call.func.value, ast.Constant(name))
        else:
            last_call.func = call(_LAST, last_call.func, ast.Constant(name))
        for owner, function in functions[name]:
            if not of_kind(ast.Yield | ast.YieldFrom, ast.walk(function)):
                at_end(function, call(_END, ast.Constant(owner + name)))
        ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def functions_of(tree):
    """The functions of a script by `name`, the methods of its classes by `.name`, each with the name of the class."""
    functions = collections.defaultdict(list)
    classes = [(one.name, ".", one.body) for one in tree.body if isinstance(one, ast.ClassDef)]
    for owner, prefix, body in [("", "", tree.body), *classes]:
        for one in body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[prefix + one.name].append((owner, one))
    return functions


def name_of(called, imported):
    """The name of a called function or method, as in `functions_of`; empty if a module or an imported name has it."""
    owner = called
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if isinstance(called, ast.Attribute) and not (isinstance(owner, ast.Name) and owner.id in imported):
        return f".{called.attr}"
    return called.id if isinstance(called, ast.Name) else ""


def in_order(node):
    """The nodes below, in the order in which they end; what handles an error, or tidies up, is not the last."""
    for name in sorted(node._fields, key=lambda name: name not in ("handlers", "finalbody")):
        value = getattr(node, name, None)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from in_order(part)
    yield node


def call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def at_end(function, end):
    start = 1 if ast.get_docstring(function, clean=False) is not None else 0
    last = function.body[-1]
    body = ast.Try(function.body[start:] or [ast.Pass()], [], [], [ast.copy_location(ast.Expr(end), last)])
    function.body[start:] = [ast.copy_location(body, last)]


class Sites:
    """Where memory was allocated, by memray: `stayed` of what no step gave back, `peak` of the most at a time."""

    def __init__(self, path):
        import memray

        self.memray, self.path = memray, path
        self.tracker = memray.Tracker(path)
        self.tracker.__enter__()

    def read(self):
        self.tracker.__exit__(None, None, None)
        reader = self.memray.FileReader(self.path)
        records = {"stayed": reader.get_leaked_allocation_records(merge_threads=True)}
        records["peak"] = reader.get_high_watermark_allocation_records(merge_threads=True)
        return {name: self.largest(each) for name, each in records.items()}

    def largest(self, records):
        """The call sites of the most memory, but those of imports, innermost call first."""
        sizes: collections.Counter[tuple[str, ...]] = collections.Counter()
        for record in records:
            calls = [call for call in record.stack_trace() if call[1] != __file__]
            if calls and not any(file.startswith("<frozen importlib") for _, file, _ in calls):
                sizes[tuple(f"{function} ({file}:{line})" for function, file, line in calls)] += record.size
        return [{"bytes": size, "calls": calls} for calls, size in sizes.most_common(5) if size >= FLOOR_BYTES]


def of_kind(kinds, nodes):
    return any(isinstance(one, kinds) for one in nodes)


class ScriptRun:
    """A run of a script, and what is done at its end."""

    def __init__(self, path, sites=None):
        self.sites = sites
        self.ladder, self.process, self.imports = ReleaseSteps(path), os.getpid(), Imports()
        self.status, self.below, self.function = 0, None, ""

    def last_call(self, owner, name):
        """Called before the last call of the script: keep the name of the function or method. Returns `owner`."""
        self.function = name
        if name.startswith("."):
            classes = owner.__mro__ if issubclass(type(owner), type) else type(owner).__mro__
            has = next((one for one in classes if name[1:] in vars(one)), object)
            self.function = has.__name__ + name if of_script(has.__module__) else ""
        return owner

    def function_ends(self, name):
        """Called at the end of functions: if it is the one that the script ends with, release its locals, once."""
        if name != self.function or os.getpid() != self.process or self.ladder.end is not None:
            return
        frame = sys._getframe(1)
        if any(outer.f_code is frame.f_code for outer, _ in traceback.walk_stack(frame.f_back)):
            return
        kind, _, trace = sys.exc_info()
        failed = kind and trace and trace.tb_frame is frame and not issubclass(kind, SystemExit)
        owner = "the error" if failed else "the function that the script ends with"
        self.below = processes()
        self.ladder.begin()
        self.ladder.together(frames(frame, owner, cells=False), "others")
        self.ladder.write()

    def main(self, path, arguments):
        names = script.as_main(path, arguments)
        builtins.__import__ = self.imports
        self.callbacks = Callbacks()
        setattr(builtins, _LAST, self.last_call)
        setattr(builtins, _END, self.function_ends)
        failed = self.execute(path, names)
        if os.getpid() != self.process:  # a fork that came to the end of the script
            sys.stdout.flush()
            os._exit(self.status)
        self.below = self.below or processes()
        builtins.__import__ = self.imports.original
        # As the interpreter does at its end.
        threading._shutdown()  # type: ignore[attr-defined]  # not in the stub
        if self.ladder.end is not None:
            self.ladder.returned(self.function)
        self.ladder.begin()
        self.ladder.call_back(self.callbacks.left)
        threading.excepthook = lambda _: None
        sys.unraisablehook = lambda _: None
        self.release(names, failed)

    def execute(self, path, names):
        """Run the script; the error that it ended with, as a list, which is emptied to forget it."""
        with open(path, "rb") as file:
            source = file.read()
        try:
            exec(compiled(source, path), names)
        except SystemExit as stopped:
            if stopped.code is not None and not isinstance(stopped.code, int):
                print(stopped.code, file=sys.stderr)
            self.status = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
        except BaseException as error:
            traceback.print_exc()
            self.status = 1
            return [error]
        return []

    def release(self, names, failed):
        ladder = self.ladder
        error = "".join(traceback.format_exception_only(failed[0])).strip() if failed else None
        ladder.script_ended = True
        own = [key for key in names if key not in _MODULE_NAMES and not issubclass(type(names[key]), types.ModuleType)]
        ladder.together([*self.aliases(names, own), *context()], "others")
        if failed:
            raised = [frame for frame, _ in traceback.walk_tb(failed[0].__traceback__)]
            places = [place for frame in raised for place in frames(frame, "the error")]
            ladder.together(places, "others")
            del raised, places
            ladder.step("the error", "traceback", failed.clear)
        if threading.active_count() > 1:
            ladder.together(threads(), "others")
        about = {"imports_bytes": self.imports.grown_bytes, "processes": self.below, "error": error,
                 "status": self.status, "threads": threading.active_count() - 1}  # fmt: skip
        ladder.write(**about)
        libraries(ladder, self.imports.grown_bytes)
        now = allocators()
        more = {f"{name}_more": now[name] - ladder.heap[name] for name in now if name in ladder.heap}
        ladder.write(**more, sites=self.sites.read() if self.sites else {})

    def aliases(self, names, own):
        """The names of the script as places; those for one object are one place."""
        by_value = collections.defaultdict(list)
        for key in own:
            by_value[id(names[key])].append(key)
        return [
            HoldingPlace(
                " = ".join(keys),
                "name",
                lambda key=keys[0]: names.get(key),
                lambda keys=keys: [names.pop(key, None) for key in keys],
            )
            for keys in by_value.values()
        ]


def main(words):
    work, path, arguments, flags = script.read(words)
    result = os.path.abspath(os.path.join(work, RESULT))
    path = script.enter(work, path, "--apart" in flags)
    run = ScriptRun(result, Sites(f"{result}.memray") if "--memray" in flags else None)
    run.main(path, arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(run.status)  # libraries without their globals are no state to end in


if __name__ == "__main__":
    main(sys.argv[1:])
