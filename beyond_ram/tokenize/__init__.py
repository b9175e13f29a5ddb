"""Turn text files into flat token ids, in bounded memory: chooses the stack that encodes, and the command to run.

The code that reads, encodes and writes is in `engine/`. It runs by path in the interpreter of a stack with tokenizers.
Nothing of the engine is imported here.
"""
