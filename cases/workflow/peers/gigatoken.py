"""gigatoken: a file at a time by `encode_files`, which reads JSON Lines itself and returns all ids of a file at
once."""

import gigatoken
from peers.how import FlatIds


def tokenize(how):
    try:
        tokenizer = gigatoken.Tokenizer(f"{how.tokenizer}/tokenizer.json")
    except BaseException as error:  # a panic is not an Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        how.cannot(f"gigatoken does not take this tokenizer: {' '.join(str(error).split())[:300]}")
    FlatIds(how).write(encoded(tokenizer, file) for file in how.files)


def encoded(tokenizer, file):
    """An array per document."""
    import numpy

    ids = tokenizer.encode_files(gigatoken.JsonlFileSource([file]))
    return (numpy.asarray(ids[at]) for at in range(len(ids)))


def documents(how):
    return FlatIds(how).documents()
