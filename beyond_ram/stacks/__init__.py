"""Stacks: pinned sets of versions, their locks and their environments."""

from .locks import StackError, add, compile_lock, lock_sha256, upgrade
from .venv import build

__all__ = ["StackError", "add", "build", "compile_lock", "lock_sha256", "upgrade"]
