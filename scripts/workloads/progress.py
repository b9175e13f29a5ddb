"""Events `progress`: how much input is done, and the memory then. Standard library only.

`map` hashes its function with all that the function refers to, and would miss its cache once a number there changes. So
the state is in this module, and such a function imports it inside its body.
"""

import events

# Maximum number of readings per run, so that a corpus of many small documents is not slowed.
MOST = 32
# Text is measured in small slices, so that freeing them does not move glibc's threshold for mapped blocks.
SLICE = 16_384

_done = {"bytes": 0, "share": -1}


def before(texts, bytes_in):
    """Call before each batch's tokenisation: reports the bytes done so far, of `bytes_in`."""
    share = _done["bytes"] * MOST // max(bytes_in, 1)
    if share > _done["share"]:
        _done["share"] = share
        events.emit("progress", bytes_in=_done["bytes"], **events.own_memory())
    _done["bytes"] += sum(map(utf8_bytes, texts))


def utf8_bytes(text):
    """The length of a text in UTF-8, without a copy of it."""
    if text.isascii():
        return len(text)
    return sum(len(text[at : at + SLICE].encode()) for at in range(0, len(text), SLICE))
