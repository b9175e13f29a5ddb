"""Places that may hold memory, how to empty them, and an estimate of what each leads to. Standard library only."""

import collections
import ctypes
import functools
import gc
import os
import sys
import types
import weakref

# Objects so large show whether two holders share what they hold. Names that lead to less are released together.
LARGE_BYTES = 65_536
# What is inside of a holder is named in its place as deep as this.
DEPTH = 5
# A container of more is estimated from a sample.
_SAMPLED, _SAMPLE = 10_000, 1_000
_SCALARS = {int, float, complex, bool, type(None), str, bytes, range, type(...)}
_CONTAINERS = (list, dict, set, collections.deque, bytearray)
_DATA = _SCALARS | {tuple, frozenset, *_CONTAINERS}
_PLAIN = _DATA | {types.FunctionType, types.MethodType, types.CellType, types.MappingProxyType, property, staticmethod,
                  classmethod, functools.partial, type(functools.cache(len)), weakref.ref}  # fmt: skip
_NO_DATA = (types.ModuleType, type, types.FrameType, types.CodeType)
MODULE_NAMES = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__cached__",
                "__builtins__"}  # fmt: skip
# The rest of the run needs these modules.
_NEEDED = {"__main__", "__mp_main__", "sys", "builtins", "os", "posix", "io", "_io", "gc", "json", "ctypes", "_ctypes",
           "types", "collections", "threading", "_thread", "codecs", "encodings", "time", "importlib", "zipimport",
           "_frozen_importlib", "_frozen_importlib_external", "memray"}  # fmt: skip


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
            if size >= LARGE_BYTES:
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
    """A place that may hold something: its name, what it is, how to read it and how to empty it. It holds nothing.

    `copies`: the references that stay when it is read.
    """

    def __init__(self, name, kind, get, empty, leaf=False, copies=0):
        self.name, self.kind, self.get, self.empty = name, kind, get, empty
        self.leaf, self.copies = leaf, copies

    def is_alone(self):
        """Whether nothing else holds the value."""
        return sys.getrefcount(self.get()) <= 2 + self.copies  # the place, and this call


def entry(names, key, name, kind):
    return HoldingPlace(name, kind, lambda: names.get(key), lambda: names.pop(key, None))


def local(frame, key, owner):
    def empty():
        frame.f_locals[key] = None
        if sys.version_info < (3, 13):  # until then it is a copy
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)

    name, kind = f"{frame.f_code.co_name}.{key}", f"local variable of {owner}"
    copies = int(sys.version_info < (3, 13))  # f_locals, until then a copy
    return HoldingPlace(name, kind, lambda: frame.f_locals.get(key), empty, copies=copies)


def cell(holder, key, name):
    def get():
        try:
            return holder.cell_contents
        except ValueError:  # empty
            return None

    return HoldingPlace(f"{name}.{key}", "closure variable", get, lambda: setattr(holder, "cell_contents", None))


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


def describe(value):
    """The type of a value, and how many it has."""
    kind = type(value)
    return f"{kind.__name__} of {len(value):,}" if kind in _DATA - _SCALARS else kind.__name__


def standard(path):
    library = os.path.dirname(os.__file__) + os.sep
    return path.startswith(("<frozen ", library)) and "site-packages" not in path


# Libraries.


def caches():
    """Every lru_cache that has something in it."""
    wrappers = [one for one in gc.get_objects() if is_cache(one)]
    for wrapper in wrappers:
        if wrapper.cache_info().currsize:
            name = f"{wrapper.__module__}.{getattr(wrapper, '__qualname__', '?')}".removeprefix("__main__.")
            yield HoldingPlace(name, "lru_cache", lambda wrapper=wrapper: wrapper, wrapper.cache_clear, leaf=True)


def globals_of_libraries():
    """The globals, class attributes and closures of all modules: by the id of a value, the places it has."""
    by_value: dict[int, list[HoldingPlace]] = collections.defaultdict(list)
    for module_name, module in modules().items():
        if module_name.partition(".")[0] not in _NEEDED:
            names = vars(module)
            for key in [key for key in names if key not in MODULE_NAMES]:
                _add(by_value, entry(names, key, f"{module_name}.{key}", "global of a module"), module_name, 0)
    return by_value


def _add(by_value, place, module_name, depth):
    value = place.get()
    kind = type(value)
    scalar = kind in _SCALARS and size_of(value) < LARGE_BYTES
    if scalar or issubclass(kind, types.ModuleType) or value is sys.modules:
        return
    if issubclass(kind, type) or kind is types.FunctionType:
        if value.__module__ == module_name and depth < DEPTH:
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


def may_hide(place):
    """Whether a place of a library may hold memory that its objects do not count."""
    kind = type(place.get())
    if place.name.partition(".")[0] in sys.stdlib_module_names:
        return False
    return issubclass(kind, _CONTAINERS) or not kind.__module__.startswith(("builtins", "_cython", "typing", "types"))
