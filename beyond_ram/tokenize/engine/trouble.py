"""Errors that end a run with one line for the user, unlike faults of the program. Standard library only."""

import errno

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk."""


class Refused(Exception):
    """Bad input, or an impossible request; the text is one line: what, where, what would be right."""


class NeedsMemory(Exception):
    """A document, or `what`, needs more memory than this worker may use."""

    def __init__(self, need, where, reason, what="a document"):
        super().__init__(need, where, reason)
        self.need, self.where, self.reason, self.what = need, where, reason, what


def out_of_memory(error):
    """Whether memory was out, for Python or for the tokenizers library, whose panic is no Exception."""
    return isinstance(error, MemoryError) or (
        type(error).__name__ == "PanicException" and "pointer is null" in str(error)
    )
