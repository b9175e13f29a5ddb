"""Turn text files into flat token ids, in bounded memory: chooses the stack that encodes, and the command to run.

The code that reads, encodes and writes is in `engine/`. It runs by path in the stack's own interpreter, because two
releases of tokenizers cannot share an environment. Nothing of the engine is imported here.
"""

from .encoders import STACKS, Encoder, choose

__all__ = ["STACKS", "Encoder", "choose"]
