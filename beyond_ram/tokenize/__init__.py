"""Text files into flat token ids, in bounded memory: which stack encodes, and the command that it runs.

What reads, encodes and writes is in `engine/`, and is run by path in the stack's own interpreter: two releases of
tokenizers cannot live in one environment. Nothing of the engine is imported here.
"""

from .encoders import STACKS, Encoder, choose

__all__ = ["STACKS", "Encoder", "choose"]
