"""Locks of stacks: `envs/NAME.in` holds the requirements, `envs/NAME.txt` what they resolved to, with hashes.

A lock holds versions and hashes only, no address: it is good on every machine and every index.
"""

import hashlib
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ..experiment.paths import NAME
from . import torch

PYTHON = "3.11"
ENVS = Path("envs")
RESERVED = {"locks": "the locks of varied stacks"}
_CONDA = """# The conda face of {name}.txt, for --sdm conda: the same lock, installed by pip.
channels: [conda-forge, nodefaults]
dependencies: [python ={python}, pip, pip: [-r {name}.txt]]
"""


class StackError(RuntimeError):
    """A stack that cannot be locked or built; the text is one line, then the resolver's own words."""


def lock_sha256(name: str, envs: Path = ENVS) -> str:
    """The SHA-256 of a stack's lock, in hexadecimal. Raises StackError where there is no such lock."""
    lock = envs / f"{name}.txt"
    if not lock.exists():
        known = ", ".join(sorted(path.stem for path in envs.glob("*.txt"))) or "none"
        raise StackError(f"{lock}: no such stack (there are: {known})")
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def has_package(lock: Path, package: str) -> bool:
    """Whether a lock pins a package, by its name as the lock has it."""
    return re.search(rf"(?m)^{re.escape(package)}==", lock.read_text(encoding="utf-8")) is not None


def compile_lock(name: str, envs: Path = ENVS, *, upgrade: Sequence[str] | None = None) -> None:
    """Resolve envs/NAME.in into envs/NAME.txt and write envs/NAME.yaml.

    Pins of an existing lock are kept but for the packages in `upgrade`; an empty list upgrades all. The file is
    replaced whole or left as it was. Raises StackError with the resolver's reason.
    """
    source, lock, partial = envs / f"{name}.in", envs / f"{name}.txt", envs / f".{name}.txt.partial"
    if not source.exists():
        raise StackError(f"{source}: no such stack; `beyond-ram stack add {name} REQUIREMENT…` makes it")
    try:
        if lock.exists():
            partial.write_bytes(lock.read_bytes())
        wanted = [] if upgrade is None else [f"--upgrade-package={p}" for p in upgrade] or ["--upgrade"]
        resolve(source, partial, wanted)
        partial.replace(lock)
    finally:
        partial.unlink(missing_ok=True)
    (envs / f"{name}.yaml").write_text(_CONDA.format(name=name, python=PYTHON), encoding="utf-8")


def resolve(source: Path, lock: Path, options: Sequence[str] = ()) -> None:
    """Resolve requirements into versions and hashes. Raises StackError with the resolver's reason."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    command = ["uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"]
    command += ["--no-emit-find-links", "--no-emit-index-url", f"--python-version={PYTHON}", f"--exclude-newer={now}"]
    command += torch.find_links() if re.search(r"(?m)^torch\b", source.read_text(encoding="utf-8")) else []
    done = subprocess.run(
        [*command, *options, str(source), f"--output-file={lock}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StackError(f"{source}: cannot be resolved\n{done.stderr.strip()}")
    lock.write_text(torch.left_bare(lock.read_text(encoding="utf-8")), encoding="utf-8")


def add(name: str, requirements: Sequence[str], envs: Path = ENVS) -> None:
    """Make a new stack from requirements and lock it. Raises StackError; nothing is left of a stack that fails."""
    if not re.fullmatch(NAME, name):
        raise StackError(f"{name!r} cannot name a stack: lower-case letters, digits, dot, underscore and hyphen can")
    if name in RESERVED:
        raise StackError(f"{name!r} cannot name a stack: .stacks/{name} is for {RESERVED[name]}")
    source = envs / f"{name}.in"
    if source.exists():
        raise StackError(f"{source} exists; `beyond-ram stack upgrade {name}` renews it")
    for other in (envs / f"{name}.txt", envs / f"{name}.yaml"):
        if other.exists():
            raise StackError(f"{other} exists, and was not made from {source}; name the stack otherwise")
    source.write_text("".join(f"{requirement}\n" for requirement in requirements), encoding="utf-8")
    try:
        compile_lock(name, envs)
    except BaseException:
        source.unlink()
        raise


def upgrade(name: str, packages: Sequence[str], envs: Path = ENVS) -> bool:
    """Renew a lock, for some packages or for all; whether it changed. Raises StackError."""
    before = lock_sha256(name, envs)
    compile_lock(name, envs, upgrade=packages)
    return lock_sha256(name, envs) != before
