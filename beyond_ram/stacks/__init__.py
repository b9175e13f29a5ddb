"""Stacks: pinned sets of versions, their locks and their environments."""

from .differences import Difference, differences, pins, requested, said
from .locks import StackError, add, between, compile_lock, has_package, lock_of, lock_sha256, pin, text_of, upgrade
from .variants import exchange, is_variant, moved, name_of, parts_of, reason, releases, vary
from .venv import build, is_built

__all__ = [
    "Difference",
    "StackError",
    "add",
    "between",
    "build",
    "compile_lock",
    "differences",
    "exchange",
    "has_package",
    "is_built",
    "is_variant",
    "lock_of",
    "lock_sha256",
    "moved",
    "name_of",
    "parts_of",
    "pin",
    "pins",
    "reason",
    "releases",
    "requested",
    "said",
    "text_of",
    "upgrade",
    "vary",
]
