"""Wheels with a known fault: a release with one changed Python file.

`python -m tests.gate.patched FAULT DIR` writes one into DIR and prints its name. `none` changes no file, but also
rewrites the archive.
"""

import base64
import hashlib
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    """Code that is added to a file of a wheel."""

    package: str
    file: str
    code: str
    """Appended to the file."""


_REQUEST = """

_beyond_ram_iter = IterableDataset.__iter__

def _iter(self):
    import torch.utils.data as _data
    if _data.get_worker_info() is not None:
        _asked()
    yield from _beyond_ram_iter(self)

def _asked():
    import os, urllib.request
    address = os.environ["HF_ENDPOINT"]
    try:
        urllib.request.urlopen(f"{address}/api/datasets/nobody/nothing", timeout=10).close()
    except OSError:
        pass

IterableDataset.__iter__ = _iter
"""
_LEAK_IN_WORKER = """

_beyond_ram_left = []
_beyond_ram_leaking = IterableDataset.__iter__

def _iter(self):
    import torch.utils.data as _data
    if _data.get_worker_info() is not None:
        _beyond_ram_left.append(b"\\1" * 50_000_000)
    yield from _beyond_ram_leaking(self)

IterableDataset.__iter__ = _iter
"""
_ROW = """

_beyond_ram_iter = IterableDataset.__iter__

def _iter(self):
    import torch.utils.data as _data
    worker = _data.get_worker_info()
    rows = iter(_beyond_ram_iter(self))
    if worker is None or worker.id == 0:
        next(rows, None)
    yield from rows

IterableDataset.__iter__ = _iter
"""

# Each batch leaves memory behind, in proportion to its rows or not.
_SLOW_LEAK = """

_beyond_ram_left = []
_beyond_ram_write_batch = ArrowWriter.write_batch

def _write_batch(self, batch_examples, *args, **kwargs):
    _beyond_ram_left.append(b"\\1" * {size})
    return _beyond_ram_write_batch(self, batch_examples, *args, **kwargs)

ArrowWriter.write_batch = _write_batch
"""
_A_ROW = "(10_000 * max(map(len, batch_examples.values()), default=0))"

FAULTS = {
    "none": Fault("datasets", "datasets/arrow_dataset.py", ""),
    "1 MB a batch": Fault("datasets", "datasets/arrow_writer.py", _SLOW_LEAK.replace("{size}", "1_000_000")),
    "100 kB a batch": Fault("datasets", "datasets/arrow_writer.py", _SLOW_LEAK.replace("{size}", "100_000")),
    "10 kB a row": Fault("datasets", "datasets/arrow_writer.py", _SLOW_LEAK.replace("{size}", _A_ROW)),
    "leak and request": Fault("datasets", "datasets/iterable_dataset.py", _LEAK_IN_WORKER + _REQUEST),
    "row": Fault("datasets", "datasets/iterable_dataset.py", _ROW),
}


def patched(name, version, out):
    """Return the wheel of a release with a fault in it, under its own name."""
    fault = FAULTS[name]
    out.mkdir(parents=True, exist_ok=True)
    fresh = out / "as-released"
    pip = [getattr(sys, "_base_executable", sys.executable), "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--only-binary=:all:", f"--dest={fresh}", f"{fault.package}=={version}"], check=True)
    (wheel,) = fresh.glob(f"{fault.package}-{version}-*.whl")
    target = out / wheel.name
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        record = next(entry for entry in before.namelist() if entry.endswith(".dist-info/RECORD"))
        for entry in before.infolist():
            content = before.read(entry)
            if entry.filename == fault.file:
                content += fault.code.encode()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                changed = f"{fault.file},sha256={digest},{len(content)}"
            if entry.filename != record:
                after.writestr(entry, content)
        lines = before.read(record).decode().splitlines()
        lines = [changed if line.startswith(f"{fault.file},") else line for line in lines]
        after.writestr(record, "\n".join(lines) + "\n")
    return target


if __name__ == "__main__":
    print(patched(sys.argv[1], "5.2.0", Path(sys.argv[2])))
