"""Holders of a script's memory at its end: scripts with a planted holder, which is the only one that is named."""

import importlib
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from beyond_ram.analysis.holders import cause_of
from beyond_ram.cli.why import lines
from beyond_ram.records.run_json import WhyEntry, fault

PROGRAM = Path(__file__).parents[2] / "scripts/workloads/why.py"
MB = 1_000_000
HELD = 60 * MB
# Room for malloc, the page size, and a script's small objects.
CLOSE = 8 * MB
PEAK = {"peak_bytes": 0}
"""What a run adds to the result of the program."""
LIBRARY = {
    "plant/__init__.py": "from .core import Store, grow, keep, store\n",
    "plant/core.py": """
        import functools

        KEPT = {}

        def keep(number):
            KEPT[number] = bytes(1000)

        class Store:
            rows = []
            def __init__(self):
                self.cache = []

        store = Store()

        def memo(function):
            seen = {}
            @functools.wraps(function)
            def call(number):
                return seen.setdefault(number, function(number))
            return call

        @memo
        def grow(number):
            return bytes(1000)
        """,
}


def why(folder, text, arguments=()):
    """Run a script and return the result, which must have the run's exit status and the types of run.json."""
    for name, content in {**LIBRARY, "case.py": text}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(content))
    work = folder.parent / f"{folder.name}-work"
    command = [sys.executable, PROGRAM, "--work-dir", work, "--script", folder / "case.py"]
    ended = subprocess.run([*command, "--arguments", json.dumps(arguments)], timeout=60, capture_output=True, text=True)
    result = json.loads((work / "why.json").read_text())
    assert result["status"] == ended.returncode
    assert fault(result, WhyEntry) == ""
    return result


# What a script or its library holds, by the holder that is named: its kind, and the code.
TOGETHER = {
    "listed": ("name", "listed = rows()"),
    "app.cache": ("attribute", "class App:\n def __init__(self): self.cache = dict(enumerate(rows()))\napp = App()"),
    "count.held": ("closure variable", "def counter():\n held = rows()\n return lambda: len(held)\ncount = counter()"),
    "load.cache": ("function attribute", "def load(): pass\nload.cache = bytearray(b'x' * 12_000_000)"),
    "save": ("name", "def save(seen=[]):\n    seen.extend(rows())\nsave()"),
    "Model.held": ("class attribute", "class Model:\n    held = []\nModel().held.extend(rows())"),
    "cached": ("lru_cache", "@functools.lru_cache(maxsize=None)\ndef cached(number): return bytes(1000)\neach(cached)"),
    "mine": ("name", "mine = threading.local()\nmine.held = rows()"),
    "read": ("name", "def reading():\n    held = rows()\n    yield 1\n    yield held\nread = reading()\nnext(read)"),
    "plant.core.KEPT": ("global of a module", "each(plant.keep)"),
    "plant.core.Store.rows": ("class attribute", "plant.Store.rows.extend(rows())"),
    "plant.core.store": ("global of a module", "plant.store.cache.extend(rows())"),
    "plant.core.grow.seen": ("closure variable", "each(plant.grow)"),
}
OF_LIBRARIES = {
    "values": ("name", "import numpy\nvalues = numpy.ones(1_600_000)\nview = values[:10]"),
    "table": (
        "name",
        "import pyarrow\nblock = pyarrow.array(range(1000))\n"
        "table = pyarrow.table({'x': pyarrow.concat_arrays([block] * 1600)})",
    ),
    "frame": ("name", "import numpy, pandas\nframe = pandas.DataFrame(numpy.ones((16_000, 100)))\nfirst = frame[0]"),
}
ROWS = """
import functools, threading, plant
def rows(): return [bytes(1000) for _ in range(12_000)]
def each(function):
    for number in range(12_000): function(number)
"""


@pytest.mark.parametrize("planted", [TOGETHER, pytest.param(OF_LIBRARIES, marks=pytest.mark.slow)])
def test_every_holder_is_named_with_what_it_holds(tmp_path, planted):
    result = why(tmp_path, "\n".join([ROWS, *(code for _, code in planted.values())]))
    steps = {step["holder"]: step for step in result["steps"] if step["holder"] != "others"}
    kinds = {name: kind for name, (kind, _) in planted.items()}
    assert {holder: step["kind"] for holder, step in steps.items()} == kinds
    assert all(abs(step["released_bytes"] - 12.8 * MB) < 2 * MB for step in steps.values()), steps


PLANTED = {
    "cycles": (
        "cycles of Node",
        "garbage",
        """
        import gc
        gc.disable()
        class Node:
            def __init__(self):
                self.me, self.payload = self, bytes(10_000)
        for _ in range(6_000): Node()
        """,
    ),
    "unused memory of malloc": (
        "allocator, unused",
        "allocator",
        "rows = [bytes(1000) for _ in range(60_000)]\nlast = bytes(1000)\nrows = None",
    ),
    "a thread": (
        "work.rows",
        "local variable of thread reader",
        """
        import threading
        begun, end = threading.Event(), threading.Event()
        def work():
            rows = [bytes(1000) for _ in range(60_000)]
            begun.set()
            end.wait()
        threading.Thread(target=work, name='reader', daemon=True).start()
        begun.wait()
        """,
    ),
    "a function main": (
        "main.rows",
        "local variable of the function that the script ends with",
        """
        import sys
        def main():
            "What it does."
            rows = [bytes(1000) for _ in range(60_000)]
            return len(rows) and 3
        if __name__ == '__main__':
            sys.exit(main())
        """,
    ),
    "a coroutine": (
        "run.rows",
        "local variable of the function that the script ends with",
        """
        import asyncio
        async def run():
            rows = [bytes(1000) for _ in range(60_000)]
            await asyncio.sleep(0)
            return len(rows)
        asyncio.run(run())
        """,
    ),
    "an object that the function returns": (
        "fit.rows",
        "held until fit() returned",
        """
        def fit():
            rows = [bytes(1000) for _ in range(60_000)]
            return rows
        print(len(fit()))
        """,
    ),
    "a callback of atexit": (
        "functions of atexit",
        "given back when they were called",
        """
        import atexit
        def go():
            rows = [bytes(1000) for _ in range(60_000)]
            atexit.register(lambda: print(len(rows)))
        go()
        """,
    ),
    "an error": (
        "load.rows",
        "local variable of the error",
        """
        class Loader:
            def load(self, count):
                rows = [bytes(1000) for _ in range(count)]
                raise ValueError(count)
        Loader().load(60_000)
        """,
    ),
    "an exit": ("rows", "name", "import sys\nrows = [bytes(1000) for _ in range(60_000)]\nsys.exit(4)\nlast = 0"),
    "Arrow's pool": (
        "arrow pool, unused",
        "allocator",
        """
        import ctypes, pyarrow
        buffers = [pyarrow.allocate_buffer(1 << 20) for _ in range(57)]
        for buffer in buffers: ctypes.memset(buffer.address, 1, buffer.size)
        del buffers, buffer
        """,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_only_the_planted_holder_is_named(tmp_path, name):
    holder, kind, text = PLANTED[name]
    result = why(tmp_path, text)
    steps = {step["holder"]: step for step in result["steps"] if step["holder"] != "others"}
    assert list(steps) == [holder], result
    assert steps[holder]["kind"] == kind
    assert abs(steps[holder]["released_bytes"] - HELD) < CLOSE
    assert cause_of(result) == ("retained" if kind == "allocator" else "held", holder.removesuffix(", unused"))
    total = sum(step["released_bytes"] for step in result["steps"])
    assert result["start_bytes"] + total + result["stayed_bytes"] == result["end_bytes"]


def test_lost_native_memory_stays_and_has_no_holder(tmp_path):
    result = why(
        tmp_path,
        """
        import ctypes
        library = ctypes.CDLL(None)
        library.malloc.restype = ctypes.c_void_p
        library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
        for _ in range(60_000):
            library.memset(library.malloc(1000), 1, 1000)
        """,
    )
    assert [step["holder"] for step in result["steps"]] == ["others"]
    assert abs(result["stayed_bytes"] - HELD) < CLOSE and abs(result["malloc_bytes_more"] - HELD) < CLOSE
    assert cause_of(result) == ("undecided", "")


def test_objects_kept_by_native_code_stay(tmp_path):
    keep = "import ctypes\nctypes.pythonapi.Py_IncRef(ctypes.py_object(rows))"
    result = why(tmp_path, f"rows = [bytes(400) for _ in range(140_000)]\n{keep}")
    assert [step["holder"] for step in result["steps"]] == ["others"]
    assert result["stayed_bytes"] > HELD - CLOSE and result["python_bytes_more"] > HELD - CLOSE


def test_pages_that_malloc_cannot_return_are_fragments(tmp_path):
    result = why(
        tmp_path,
        """
        import ctypes
        library = ctypes.CDLL(None)
        library.malloc.restype = ctypes.c_void_p
        library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
        library.free.argtypes = [ctypes.c_void_p]
        blocks = [library.malloc(500) for _ in range(120_000)]
        for block in blocks: library.memset(block, 1, 500)
        for number, block in enumerate(blocks):
            if number % 8: library.free(block)
        del blocks, block
        """,
    )
    assert cause_of(result) == ("retained", "allocator (fragments)")


@pytest.mark.slow
def test_fragments_are_marked(tmp_path):
    result = why(tmp_path, "rows = [bytes(1000) for _ in range(60_000)]\nrows = rows[::8]")
    (step,) = [step for step in result["steps"] if step["kind"] == "name"]
    assert step["holder"] == "rows" and step["fragments"] and step["released_bytes"] > 3 * step["objects_bytes"]


def test_owner_whose_objects_lay_in_the_same_pages_is_named_with_the_last_one(tmp_path):
    result = why(
        tmp_path,
        """
        large, small = [], []
        for number in range(140_000):
            large.append(bytes(400))
            if number % 8 == 0: small.append(bytes(400))
        shared = large[:1]  # of the same objects, and too few to be named
        """,
    )
    (step,) = [step for step in result["steps"] if step["kind"] == "name"]
    assert step["holder"] == "small" and step["fragments"] and [*step["released_before"]] == ["large"]
    assert abs(step["released_before"]["large"] - 140_000 * 433) < CLOSE
    assert cause_of(result) == ("held", "large and small")
    assert "in use, with objects that were released before: large (" in "\n".join(lines("case.py", PEAK | result))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_memory_of_a_child_process_is_listed_and_has_no_holder(tmp_path, how):
    result = why(
        tmp_path,
        f"""
        import multiprocessing
        def work(begun, end):
            rows = [bytes(1000) for _ in range(60_000)]
            begun.set()
            end.wait()
        if __name__ == '__main__':
            context = multiprocessing.get_context({how!r})
            begun, end = context.Event(), context.Event()
            context.Process(target=work, args=(begun, end), name='worker', daemon=True).start()
            begun.wait()
        """,
    )
    assert not [step for step in result["steps"] if step["holder"] != "others"]
    (process,) = [child for child in result["processes"] if child["private_bytes"] > CLOSE]
    assert process["name"] == "worker" and abs(process["private_bytes"] - HELD) < 2 * CLOSE


@pytest.mark.slow
def test_two_holders_of_the_same_object_are_both_named(tmp_path):
    result = why(tmp_path, "rows = [bytes(1000) for _ in range(60_000)]\nall_rows = {'rows': rows}")
    (step,) = [step for step in result["steps"] if step["holder"] != "others"]
    assert {step["holder"], *step["also_held_by"]} == {"rows", "all_rows"}


def test_script_that_holds_nothing_has_no_holder(tmp_path):
    result = why(tmp_path, "rows = [bytes(1000) for _ in range(60_000)]\ndel rows\n")
    assert [step["holder"] for step in result["steps"]] == ["others"]
    assert abs(result["end_bytes"] - result["start_bytes"]) < CLOSE


@pytest.mark.parametrize(("code", "status"), [("len(main().rows) // 20_000", 3), ("False", 0)])
def test_script_ends_as_without_it(tmp_path, code, status):
    text = """
        class App:
            def load(self):
                self.rows = [bytes(1000) for _ in range(60_000)]
                return self
        def main():
            app = App().load()
            return app
        raise SystemExit(CODE)
        """
    assert why(tmp_path, text.replace("CODE", code))["status"] == status


def test_memory_that_is_given_back_late_is_counted_once(monkeypatch):
    monkeypatch.syspath_prepend(PROGRAM.parent)
    module = importlib.import_module("release_steps")
    monkeypatch.setattr(module, "level", lambda: 40_000_000)
    steps = module.ReleaseSteps("why.json")
    steps.at, steps.waits_s = 100_000_000, 0.01
    steps.settle()
    steps.step("rows", "name", list)
    assert [step["released_bytes"] for step in steps.steps] == [60_000_000, 0]
