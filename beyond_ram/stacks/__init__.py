"""Stacks: pinned sets of versions, their locks and their environments."""

from .locks import StackError, add, compile_lock, has_package, lock_sha256, upgrade
from .variants import is_variant, moved, name_of, parts_of, reason, releases, vary
from .venv import build

__all__ = [
    "StackError",
    "add",
    "build",
    "compile_lock",
    "has_package",
    "is_variant",
    "lock_sha256",
    "moved",
    "name_of",
    "parts_of",
    "reason",
    "releases",
    "upgrade",
    "vary",
]
