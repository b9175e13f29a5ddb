"""A loop over `encode_batch` and no pipeline: lines are parsed, encoded in batches, and written as they are done.

All cores are the tokenizer's own threads.
"""

import tokenizers  # noqa: F401
from peers.how import Flat

LIBRARIES = ()


def tokenize(how):
    encode = how.encoder()
    Flat(how).write(map(encode, how.batches()))


def documents(how):
    return Flat(how).documents()
