"""A loop over `encode_batch` without a pipeline: lines are parsed, encoded in batches, and written at once.

All cores are used by the tokenizer's own threads.
"""

import tokenizers  # noqa: F401
from peers.how import FlatIds


def tokenize(how):
    encode = how.encoder()
    FlatIds(how).write(map(encode, how.batches()))


def documents(how):
    return FlatIds(how).documents()
