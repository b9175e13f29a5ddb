"""Locks of stacks: `envs/NAME.in` has the requirements, `envs/NAME.txt` the resolved versions with hashes.

A lock has only versions and hashes, no addresses, so it is valid on every machine and for every index.
"""

import hashlib
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

from .. import mask_secrets
from ..files import whole, write
from ..text import NAME, did_you_mean
from . import torch
from .differences import Difference, base_of, changed_pins, differences, pins, requested

PYTHON = "3.11"
EXACT = platform.python_version() if platform.python_version().startswith(f"{PYTHON}.") else f"{PYTHON}.0"
"""The version of the stacks' Python, as far as it is known before one is built."""
ENVS = Path("envs")
_ADDRESS = re.compile(r"(?m)^([A-Za-z0-9._-]+)(?:\[[^]]*\])? @ (\S+)")
BEFORE = "-before"
"""The end of the name of a stack that has another's lock from before an upgrade."""
PRE = "--pre"
"""The line in NAME.in that allows prereleases, as in pip. uv ignores it and gets a flag instead."""
_STACK = re.compile(r"[a-z0-9][a-z0-9._+-]*")
_REQUIREMENT = re.compile(r"\s*[A-Za-z0-9#]((?!\s--)[^\x00-\x1f\x7f])*")  # only if no option follows
RESERVED = {"locks": "the locks of varied stacks"}
_CONDA = """# The conda face of {name}.txt, for --sdm conda: the same lock, installed by pip.
channels: [conda-forge, nodefaults]
dependencies: [python ={python}, pip, pip: [-r {name}.txt]]
"""


class StackError(RuntimeError):
    """A stack cannot be locked or built. The message is one line, then the resolver's output."""


class UnsolvableError(StackError):
    """No set of versions meets all requirements."""


def text_of(path: Path) -> str:
    """The text of a lock or of requirements. Raises StackError if it is missing."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StackError(f"{path}: not UTF-8, at byte {error.start}; it has to be a file of requirements") from None


def lock_of(name: str, envs: Path = ENVS, varied: Path | None = None) -> Path:
    """The lock of a stack. BASE+PACKAGE-VERSION is searched in `varied`. Raises StackError if missing."""
    if not _STACK.fullmatch(name):
        raise StackError(f"{name!r} names no stack: lower-case letters, digits and . _ - + do")
    folder = varied if varied and "+" in name else envs
    lock = folder / f"{name}.txt"
    if not lock.is_file():
        existing = sorted(path.stem for path in folder.glob("*.txt"))
        hint = did_you_mean(name, existing) or f" (there are: {', '.join(existing) or 'none'})"
        raise StackError(f"{lock}: no such stack{hint}")
    return lock


def between(before: str, after: str, root: Path) -> list[Difference]:
    """The differences between two stacks of a project, required packages first.

    Raises StackError if one has no lock.
    """
    envs, texts, wanted = root / ENVS, list[str](), list[str]()
    for name in (before, after):
        texts.append(text_of(lock_of(name, envs, root / ".stacks/locks")))
        source = envs / f"{base_of(name)}.in"
        wanted += requested(text_of(source)) if source.is_file() else []
    return differences(texts[0], texts[1], wanted)


def lock_sha256(name: str, envs: Path = ENVS) -> str:
    """The SHA-256 of a stack's lock in hexadecimal. Raises StackError if there is no lock."""
    return hashlib.sha256(lock_of(name, envs).read_bytes()).hexdigest()


def has_package(lock: Path, package: str) -> bool:
    """Whether a lock pins a package."""
    return canonical(package) in pins(text_of(lock))


def lacks(lock: Path, requirement: str) -> str:
    """What keeps a lock from having what a requirement asks for; empty if nothing does.

    A resolver may obey more than the requirement: overrides and constraints in its own settings.
    """
    wanted, text = Requirement(requirement), text_of(lock)
    name = canonical(wanted.name)
    if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
        return f"its marker ({wanted.marker}) leaves it out on this machine"
    if wanted.url:
        has = any(canonical(one[1]) == name and one[2] == wanted.url for one in _ADDRESS.finditer(text))
        return "" if has else "the lock does not have it; a setting of uv (UV_OVERRIDE, uv.toml) may replace it"
    version = pins(text).get(name)
    if version is None:
        return "the lock does not have it"
    if not wanted.specifier.contains(version, prereleases=True):
        return f"the lock has {name} {version}; a setting of uv (UV_OVERRIDE, UV_CONSTRAINT, uv.toml) may replace it"
    return ""


def takes_prereleases(source: Path) -> bool:
    """Whether the requirements of a stack allow prereleases of all packages."""
    return PRE in map(str.strip, text_of(source).splitlines())


def compile_lock(name: str, envs: Path = ENVS, *, upgrade: Sequence[str] | None = None) -> None:
    """Resolve envs/NAME.in into envs/NAME.txt and write envs/NAME.yaml.

    Pins of an existing lock are kept, except for packages in `upgrade`; an empty list upgrades all. The lock is
    replaced atomically. Raises StackError with the resolver's reason.
    """
    source, lock = envs / f"{name}.in", envs / f"{name}.txt"
    if not source.exists():
        raise StackError(f"{source}: no such stack; `beyond-ram stack add {name} REQUIREMENT…` makes it")
    with whole(lock) as partial:
        if lock.exists():
            partial.write_bytes(lock.read_bytes())
        wanted = [] if upgrade is None else [f"--upgrade-package={p}" for p in upgrade] or ["--upgrade"]
        resolve(source, partial, wanted)
    _write_conda(name, envs)


def _write_conda(name: str, envs: Path) -> None:
    write(envs / f"{name}.yaml", _CONDA.format(name=name, python=PYTHON))


def uv() -> str:
    """The command uv: of PATH, or of the package that is installed beside us. Raises StackError."""
    if on_path := shutil.which("uv"):
        return on_path
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        raise StackError("uv builds the environments, and is not installed: pip install uv") from None


def resolve(source: Path, lock: Path, options: Sequence[str] = (), until: str | None = None) -> None:
    """Resolve requirements to versions and hashes, from uploads `until` a time (default: now).

    An empty `until` sets no bound, for an index without times. Raises UnsolvableError if no versions meet the
    requirements, StackError if the index does not answer, both with the resolver's reason.
    """
    until = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if until is None else until
    command = [uv(), "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"]
    command += ["--no-emit-find-links", "--no-emit-index-url", f"--python-version={PYTHON}"]
    command += [f"--exclude-newer={until or 'false'}"]
    command += ["--prerelease=allow"] if takes_prereleases(source) else []
    command += torch.find_links() if re.search(r"(?m)^torch\b", text_of(source)) else []
    command += [*options, str(source), f"--output-file={lock}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        error = UnsolvableError if "No solution found" in done.stderr else StackError
        raise error(f"{source}: cannot be resolved\n{mask_secrets.in_text(done.stderr.strip())}")
    lock.write_text(torch.left_bare(lock.read_text(encoding="utf-8")), encoding="utf-8")


def resolve_near(source: Path, lock: Path, near: Mapping[str, str], until: str | None = None) -> str:
    """Resolve requirements, changing as few of the versions in `near` (by package) as possible.

    Returns the changed ones, as `NAME VERSION to VERSION, …`. Raises UnsolvableError, StackError.
    """
    lines = "".join(f"{name}=={version}\n" for name, version in near.items())
    constraints = lock.with_name(f"{lock.name}.near")
    constraints.write_text(lines, encoding="utf-8")
    try:
        resolve(source, lock, [f"--constraints={constraints}"], until)
    except UnsolvableError:
        # uv keeps the versions in its output file if it can.
        lock.write_text(lines, encoding="utf-8")
        resolve(source, lock, until=until)
    resolved = pins(lock.read_text(encoding="utf-8"))
    same = near.keys() & resolved.keys()
    return changed_pins({name: near[name] for name in same}, resolved, resolved.keys() - same)


def add(name: str, requirements: Sequence[str], envs: Path = ENVS, *, prereleases: bool = False) -> None:
    """Make a new stack from requirements and lock it. Raises StackError; then nothing is left of it."""
    if not re.fullmatch(NAME, name):
        raise StackError(f"{name!r} cannot name a stack: lower-case letters, digits, dot, underscore and hyphen can")
    if name in RESERVED:
        raise StackError(f"{name!r} cannot name a stack: .stacks/{name} is for {RESERVED[name]}")
    for requirement in requirements:
        if not _REQUIREMENT.fullmatch(requirement):
            raise StackError(f"{requirement!r} is no requirement: NAME, NAME==VERSION or an address is, on one line")
    source = envs / f"{name}.in"
    if source.exists():
        raise StackError(f"{source} exists; `beyond-ram stack upgrade {name}` renews it")
    for other in (envs / f"{name}.txt", envs / f"{name}.yaml"):
        if other.exists():
            raise StackError(f"{other} exists, and was not made from {source}; choose another name")
    lines = [*([PRE] if prereleases else []), *requirements]
    write(source, "".join(f"{line}\n" for line in lines))
    try:
        compile_lock(name, envs)
    except BaseException:
        source.unlink()
        raise


def upgrade(name: str, packages: Sequence[str], envs: Path = ENVS) -> bool:
    """Upgrade some packages of a lock, or all, and keep the lock before as stack NAME-before.

    Returns whether the lock changed. Raises StackError.
    """
    source, lock = envs / f"{name}.in", lock_of(name, envs)
    for package in packages:
        if not has_package(lock, package):
            hint = did_you_mean(canonical(package), pins(text_of(lock)))
            raise StackError(f"{lock} has no package {package!r}{hint}")
    requirements, before = text_of(source) if source.exists() else "", text_of(lock)
    compile_lock(name, envs, upgrade=packages)
    if changed := text_of(lock) != before:
        write(envs / f"{name}{BEFORE}.in", requirements)
        write(envs / f"{name}{BEFORE}.txt", before)
        _write_conda(f"{name}{BEFORE}", envs)
    return changed
