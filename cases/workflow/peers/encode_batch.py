"""A loop over `encode_batch` without a pipeline: lines are parsed, encoded in batches, and written at once.

All cores are used by the tokenizer's own threads.
"""

import tokenizers  # noqa: F401
from peers.how import Flat


def tokenize(how):
    encode = how.encoder()
    Flat(how).write(map(encode, how.batches()))


def documents(how):
    return Flat(how).documents()
